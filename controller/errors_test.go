package controller

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	runtimeschema "k8s.io/apimachinery/pkg/runtime/schema"

	"stoic/schema"
)

func TestSortError(t *testing.T) {
	pods := runtimeschema.GroupResource{Resource: "pods"}
	going := &apierrors.StatusError{ErrStatus: metav1.Status{Reason: metav1.StatusReasonForbidden, Code: http.StatusForbidden,
		Details: &metav1.StatusDetails{Causes: []metav1.StatusCause{{Type: corev1.NamespaceTerminatingCause}}}}}
	quota := apierrors.NewForbidden(pods, "a", errors.New("exceeded quota: small, requested: pods=1, used: pods=5, limited: pods=5"))
	denied := apierrors.NewForbidden(pods, "a", errors.New("not allowed"))
	invalid := apierrors.NewInvalid(runtimeschema.GroupKind{Kind: "Pod"}, "a", nil)
	conflict := &conflictError{schema.Object{Resource: schema.Pods(), Namespace: "ns", Name: "a"}}
	for _, c := range []struct {
		name string
		err  error
		want answer
		tell bool
	}{
		{"none", nil, done, false},
		{"gone", apierrors.NewNotFound(pods, "a"), done, false},
		{"namespace going", going, done, false},
		{"conflict of versions", apierrors.NewConflict(pods, "a", errors.New("x")), retry, false},
		{"too many requests", apierrors.NewTooManyRequests("slow down", 1), retry, false},
		{"server error", apierrors.NewInternalError(errors.New("x")), retry, false},
		{"timeout", apierrors.NewTimeoutError("x", 1), retry, false},
		{"deadline", context.DeadlineExceeded, retry, false},
		{"network", errors.New("connection reset by peer"), retry, false},
		{"panic", errPanicked, retry, false},
		{"caches behind", errBehind, behind, false},
		{"object gone", errUnrecorded, retry, false},
		{"no status subresource", fmt.Errorf("write: %w", errStatusless), retry, true},
		{"old owner", &writeError{"create", schema.Pods(), "a", errOldOwner}, retry, false},
		{"quota", quota, retry, true},
		{"denied", denied, retry, true},
		{"invalid", invalid, probe, true},
		{"bad request", apierrors.NewBadRequest("x"), probe, true},
		{"too large", apierrors.NewRequestEntityTooLargeError("x"), probe, true},
		{"foreign object", conflict, probe, true},
		{"wrapped", fmt.Errorf("create: %w", &writeError{"create", schema.Pods(), "a", invalid}), probe, true},
		{"joined: what can succeed is tried again", errors.Join(invalid, apierrors.NewInternalError(errors.New("x"))), retry, true},
		{"joined: nothing to do", errors.Join(nil, apierrors.NewNotFound(pods, "a")), done, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := sortError(c.err); got != c.want {
				t.Errorf("sorted as %d, want %d", got, c.want)
			}
			if c.err != nil && worthTelling(c.err) != c.tell {
				t.Errorf("worth telling: %v, want %v", !c.tell, c.tell)
			}
		})
	}
}

func TestRefusalNamesWhatWasRefused(t *testing.T) {
	invalid := apierrors.NewInvalid(runtimeschema.GroupKind{Kind: "Service"}, "a", nil)
	for _, c := range []struct {
		err    error
		reason string
	}{
		{&writeError{"create", schema.Pods(), "a", invalid}, schema.ReasonCreatePodFailed},
		{&writeError{"create", schema.Services(), "a", invalid}, schema.ReasonCreateServiceFailed},
		{&writeError{"delete", schema.Pods(), "a", invalid}, schema.ReasonDeletePodFailed},
		{&writeError{"delete", schema.Services(), "a", invalid}, schema.ReasonDeleteServiceFailed},
		{&writeError{"delete", schema.TFJob().Resource(), "a", invalid}, schema.ReasonDeleteJobFailed},
		{&conflictError{schema.Object{Resource: schema.Pods(), Namespace: "ns", Name: "a"}}, schema.ReasonNameConflict},
	} {
		if got := refusal(schema.TFJob(), "creating", c.err, "generation 1"); got.Reason != c.reason || got.Type != corev1.EventTypeWarning || got.Occasion != "generation 1" {
			t.Errorf("%v: %+v, want reason %s", c.err, got, c.reason)
		}
	}
}
