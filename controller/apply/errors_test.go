package apply

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	runtimeschema "k8s.io/apimachinery/pkg/runtime/schema"

	"stoic/schema"
)

func TestClassOf(t *testing.T) {
	pods := runtimeschema.GroupResource{Resource: "pods"}
	going := &apierrors.StatusError{ErrStatus: metav1.Status{Reason: metav1.StatusReasonForbidden, Code: http.StatusForbidden,
		Details: &metav1.StatusDetails{Causes: []metav1.StatusCause{{Type: corev1.NamespaceTerminatingCause}}}}}
	quota := apierrors.NewForbidden(pods, "a", errors.New("exceeded quota: small, requested: pods=1, used: pods=5, limited: pods=5"))
	denied := apierrors.NewForbidden(pods, "a", errors.New("not allowed"))
	invalid := apierrors.NewInvalid(runtimeschema.GroupKind{Kind: "Pod"}, "a", nil)
	conflict := &conflictError{schema.Object{Resource: schema.Pods(), Namespace: "ns", Name: "a"}, "Widget w", "widget"}
	for _, c := range []struct {
		name string
		err  error
		want Class
		tell bool
	}{
		{"none", nil, Done, false},
		{"gone", apierrors.NewNotFound(pods, "a"), Done, false},
		{"gone, of what is to be deleted", &writeError{"delete", schema.Pods(), "a", apierrors.NewNotFound(pods, "a")}, Done, false},
		{"gone, of what is to be updated", &writeError{"update", gadgets(), "a", apierrors.NewNotFound(pods, "a")}, Done, false},
		{"not found, of what is to be created", &writeError{"create", schema.Pods(), "a", apierrors.NewNotFound(pods, "a")}, Retry, true},
		{"namespace gone", &writeError{"create", schema.Pods(), "a", apierrors.NewNotFound(corev1.Resource("namespaces"), "ns")}, Done, false},
		{"namespace going", going, Done, false},
		{"conflict of versions", apierrors.NewConflict(pods, "a", errors.New("x")), Retry, false},
		{"too many requests", apierrors.NewTooManyRequests("slow down", 1), Retry, false},
		{"server error", apierrors.NewInternalError(errors.New("x")), Retry, false},
		{"a webhook that fails", apierrors.NewInternalError(errors.New(`failed calling webhook "w": connection refused`)), Retry, true},
		{"timeout", apierrors.NewTimeoutError("x", 1), Retry, false},
		{"deadline", context.DeadlineExceeded, Retry, false},
		{"network", errors.New("connection reset by peer"), Retry, false},
		{"panic", ErrPanicked, Retry, false},
		{"caches behind", ErrBehind, Behind, false},
		{"children that cannot be read", fmt.Errorf("%w: no CRD", ErrUnreadable), Refused, false},
		{"object gone", errUnrecorded, Retry, false},
		{"no status subresource", fmt.Errorf("write: %w", errStatusless), Retry, true},
		{"old owner", &writeError{"create", schema.Pods(), "a", errOldOwner}, Retry, false},
		{"old owner, whose child does not end", &writeError{"create", schema.Pods(), "a", &stuckError{schema.Object{Resource: schema.Pods(), Name: "a"}, []string{"a/b"}, "job"}}, Retry, true},
		{"quota", quota, Retry, true},
		{"denied", denied, Retry, true},
		{"invalid", invalid, Refused, true},
		{"bad request", apierrors.NewBadRequest("x"), Refused, true},
		{"method not allowed", apierrors.NewMethodNotSupported(pods, "patch"), Refused, true},
		{"too large", apierrors.NewRequestEntityTooLargeError("x"), Refused, true},
		{"foreign object", conflict, Refused, true},
		{"ours, but not selected", &notSelectedError{schema.Object{Resource: schema.Pods(), Name: "a"}, "by=me"}, Refused, true},
		{"annotation that is not kept", fmt.Errorf("annotate: %w", &notKeptError{"annotation a"}), Retry, true},
		{"wrapped", fmt.Errorf("create: %w", &writeError{"create", schema.Pods(), "a", invalid}), Refused, true},
		{"joined: what can succeed is tried again", errors.Join(invalid, apierrors.NewInternalError(errors.New("x"))), Retry, true},
		{"joined: nothing to do", errors.Join(nil, apierrors.NewNotFound(pods, "a")), Done, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := ClassOf(c.err); got != c.want {
				t.Errorf("class %d, want %d", got, c.want)
			}
			if c.err != nil && isForAuthor(c.err) != c.tell {
				t.Errorf("for the author: %v, want %v", !c.tell, c.tell)
			}
		})
	}
}

// TestIsDenied: no other failure is hidden behind a quota.
func TestIsDenied(t *testing.T) {
	pods := runtimeschema.GroupResource{Resource: "pods"}
	quota := &writeError{"create", schema.Pods(), "a", apierrors.NewForbidden(pods, "a", errors.New("exceeded quota: small"))}
	right := &writeError{"create", schema.Pods(), "a", apierrors.NewForbidden(pods, "", errors.New(`User "u" cannot create resource "pods" in API group "" in the namespace "ns"`))}
	invalid := apierrors.NewInvalid(runtimeschema.GroupKind{Kind: "Pod"}, "a", nil)
	gone := apierrors.NewNotFound(pods, "a")
	for _, c := range []struct {
		name string
		err  error
		want bool
	}{
		{"none", nil, false},
		{"quota", quota, true},
		{"quota, wrapped", fmt.Errorf("create: %w", quota), true},
		{"quota, twice, and what is refused or gone", errors.Join(quota, invalid, gone, quota), true},
		{"right", right, false},
		{"quota and right", errors.Join(quota, right), false},
		{"quota and server error", errors.Join(quota, apierrors.NewInternalError(errors.New("x"))), false},
		{"quota and timeout, wrapped", fmt.Errorf("apply: %w", errors.Join(quota, context.DeadlineExceeded)), false},
		{"server error", apierrors.NewInternalError(errors.New("exceeded quota")), false},
		{"network", errors.New("connection reset by peer"), false},
		{"refused", invalid, false},
		{"caches behind", ErrBehind, false},
		{"panic", ErrPanicked, false},
	} {
		if got := IsDenied(c.err); got != c.want {
			t.Errorf("%s: %v", c.name, got)
		}
	}
}

func TestRefusalNamesWhatWasRefused(t *testing.T) {
	invalid := apierrors.NewInvalid(runtimeschema.GroupKind{Kind: "Service"}, "a", nil)
	a := newTestApplier(t, newAPIServer(t), nil)
	foreign := schema.Object{Resource: schema.Pods(), Namespace: "ns", Name: "a"}
	for _, c := range []struct {
		err    error
		reason string
	}{
		{&writeError{"create", schema.Pods(), "a", invalid}, "PodsCreateFailed"},
		{&writeError{"create", schema.Services(), "a", invalid}, "ServicesCreateFailed"},
		{&writeError{"delete", schema.Pods(), "a", invalid}, "PodsDeleteFailed"},
		{&writeError{"delete", schema.Services(), "a", invalid}, "ServicesDeleteFailed"},
		{&writeError{"update", gadgets(), "a", invalid}, "GadgetsUpdateFailed"},
		{&writeError{"delete", widgets(), "a", invalid}, "WidgetDeleteFailed"},
		{&writeError{"create", schema.Resource{Version: "v1", Plural: "nodes", Kind: "Node"}, "a", invalid}, "WidgetFailed"},
		{errors.New("anything else"), "WidgetFailed"},
		{&conflictError{foreign, "Widget w", "widget"}, ReasonNameConflict},
		{&notSelectedError{foreign, "by=me"}, ReasonNameConflict},
	} {
		if got := a.refusal("creating", c.err, "generation 1"); got.Reason != c.reason || got.Type != corev1.EventTypeWarning || got.Occasion != "generation 1" {
			t.Errorf("%v: %+v, want reason %s", c.err, got, c.reason)
		}
	}
}

// TestLongestBackOff: what ends for all objects at the same time is retried within seconds; what concerns one may take
// minutes.
func TestLongestBackOff(t *testing.T) {
	pods := runtimeschema.GroupResource{Resource: "pods"}
	for _, c := range []struct {
		err  error
		want time.Duration
	}{
		{errors.New("connection refused"), longestTrouble},
		{apierrors.NewConflict(pods, "a", errors.New("x")), longestTrouble},
		{&writeError{"create", schema.Pods(), "a", apierrors.NewForbidden(pods, "a", errors.New("quota"))}, LastRefused},
		{&writeError{"create", schema.Pods(), "a", apierrors.NewNotFound(pods, "a")}, LastRefused},
		{fmt.Errorf("%w: nil", ErrPanicked), LastRefused},
		{fmt.Errorf("write: %w", errStatusless), LastRefused},
		{fmt.Errorf("annotate: %w", &notKeptError{"annotation a"}), LastRefused},
	} {
		if got := LongestBackOff(c.err); got != c.want {
			t.Errorf("%v: %s, want %s", c.err, got, c.want)
		}
	}
}

func TestRanges(t *testing.T) {
	for _, c := range []struct{ names, want string }{
		{"", ""},
		{"a", "a"},
		{"a-0", "a-0"},
		{"a-1 a-0", "a-0..1"},
		{"a-worker-2 a-ps-0 a-worker-0 a-worker-1", "a-ps-0, a-worker-0..2"},
		{"a-0 a-2 a-3 a-5", "a-0, a-2..3, a-5"},
		{"a-9 a-10 a-11", "a-9..11"},
		{"a--1 a-x a-", "a-, a--1, a-x"},
		{"a-99999999999999999999", "a-99999999999999999999"},
	} {
		if got := ranges(strings.Fields(c.names)); got != c.want {
			t.Errorf("ranges(%s) = %s, want %s", c.names, got, c.want)
		}
	}
}

func TestListedIsOneEventAResource(t *testing.T) {
	a := newTestApplier(t, newAPIServer(t), nil)
	got := a.listed("Created", map[schema.Resource][]string{schema.Services(): {"a-0", "a-1"}, schema.Pods(): {"a-0"}})
	if len(got) != 2 || got[0].Message != "Created pod: a-0" || got[0].Reason != "PodsCreated" ||
		got[1].Message != "Created services: a-0..1" || got[1].Reason != "ServicesCreated" {
		t.Errorf("%+v", got)
	}
	deleted := a.listed("Deleted", map[schema.Resource][]string{widgets(): {"a"}})
	if len(deleted) != 1 || deleted[0].Message != "Deleted widget: a" || deleted[0].Reason != "WidgetDeleted" {
		t.Errorf("%+v", deleted)
	}
	// A resource without a reason for it gets no event.
	if got := a.listed("Created", map[schema.Resource][]string{widgets(): {"a"}, {Plural: "nodes"}: {"n"}}); len(got) != 0 {
		t.Errorf("%+v", got)
	}
}
