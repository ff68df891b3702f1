package apply

import (
	"errors"
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	runtimeschema "k8s.io/apimachinery/pkg/runtime/schema"

	"stoic/schema"
)

// TestCauseOf: with the messages of Kubernetes 1.36.
func TestCauseOf(t *testing.T) {
	pods := runtimeschema.GroupResource{Resource: "pods"}
	forbidden := func(why string) error { return apierrors.NewForbidden(pods, "a", errors.New(why)) }
	for _, c := range []struct {
		err  error
		want schema.Cause
	}{
		{forbidden("exceeded quota: small, requested: pods=1, used: pods=5, limited: pods=5"), schema.CauseQuota},
		{forbidden("failed quota: small: must specify cpu for: tensorflow"), schema.CauseQuota},
		{forbidden("maximum cpu usage per Container is 1, but limit is 2"), schema.CauseLimitRange},
		{forbidden("cpu max limit to request ratio per Pod is 2, but provided ratio is 4.000000"), schema.CauseLimitRange},
		{forbidden(`violates PodSecurity "restricted:latest": runAsNonRoot != true`), schema.CausePodSecurity},
		{forbidden("no PriorityClass with name urgent was found"), schema.CausePriorityClass},
		{forbidden(`error looking up service account ns/trainer: serviceaccount "trainer" not found`), schema.CauseServiceAccount},
		{forbidden("ValidatingAdmissionPolicy 'p' with binding 'b' denied request: exceeded quota: of words"), schema.CausePolicy},
		{errors.New(`admission webhook "w.example.com" denied the request: exceeded quota: of words`), schema.CauseWebhook},
		{apierrors.NewInternalError(errors.New(`failed calling webhook "w.example.com": connection refused`)), schema.CauseWebhook},
		{apierrors.NewForbidden(pods, "", errors.New(`User "o" cannot create resource "pods" in API group "" in the namespace "ns"`)), schema.CausePermission},
		{forbidden("something of a later version"), schema.CauseForbidden},
		{apierrors.NewInvalid(runtimeschema.GroupKind{Kind: "Pod"}, "a", nil), schema.CauseInvalid},
		{apierrors.NewBadRequest("x"), schema.CauseInvalid},
		{apierrors.NewRequestEntityTooLargeError("x"), schema.CauseInvalid},
		{apierrors.NewNotFound(pods, "a"), schema.CauseNotFound},
		{&conflictError{schema.Object{Resource: schema.Pods(), Name: "a"}, "Widget w", "widget"}, schema.CauseNameTaken},
		{&elsewhereError{schema.Object{Resource: schema.Pods(), Name: "a"}, apierrors.NewNotFound(pods, "a")}, schema.CauseNotFound},
		{errors.New("anything"), schema.CauseOther},
	} {
		if got := causeOf(fmt.Errorf("x: %w", &writeError{"create", schema.Pods(), "a", c.err})); got != c.want {
			t.Errorf("%v: %s, want %s", c.err, got, c.want)
		}
	}
}

// TestWebhookThatFailsIsForTheAuthor: it is an internal error, and the only one that is not between us and the API server.
func TestWebhookThatFailsIsForTheAuthor(t *testing.T) {
	for text, want := range map[string]bool{`failed calling webhook "w": connection refused`: true, "etcdserver: request timed out": false} {
		if err := apierrors.NewInternalError(errors.New(text)); isForAuthor(err) != want || ClassOf(err) != Retry {
			t.Errorf("%s: for the author %v, class %d", text, isForAuthor(err), ClassOf(err))
		}
	}
}

// TestRefusedIsKnown: what the API server refuses is known until it is created; what it does not answer changes nothing.
func TestRefusedIsKnown(t *testing.T) {
	s, now := newAPIServer(t), time.Unix(1767225600, 0)
	a := newTestApplier(t, s, func(o *Options) { o.Now = func() time.Time { return now } })
	s.put(widgetsPath+"a", nil)
	head := s.head(t, "a")
	code := 0
	s.failing(func(request string) *metav1.Status {
		if code != 0 && request == createPod {
			return statusOf(code)
		}
		return nil
	})
	first := now
	refused := func(code int32, reason metav1.StatusReason, cause schema.Cause, since time.Time) []schema.Refusal {
		return []schema.Refusal{{Resource: schema.Pods(), Namespace: "ns", Name: "p", Cause: cause, Reason: reason, Code: code, Since: since}}
	}
	for _, step := range []struct {
		name string
		code int
		want []schema.Refusal
	}{
		{"trouble", http.StatusInternalServerError, nil},
		{"refused", http.StatusForbidden, refused(403, metav1.StatusReasonForbidden, schema.CauseForbidden, first.Add(time.Minute))},
		{"again", http.StatusForbidden, refused(403, metav1.StatusReasonForbidden, schema.CauseForbidden, first.Add(time.Minute))},
		{"trouble in between", http.StatusInternalServerError, refused(403, metav1.StatusReasonForbidden, schema.CauseForbidden, first.Add(time.Minute))},
		{"for another cause", http.StatusUnprocessableEntity, refused(422, metav1.StatusReasonInvalid, schema.CauseInvalid, first.Add(4*time.Minute))},
		{"created", 0, nil},
	} {
		s.locked(func() { code = step.code })
		a.Store.SetVerified(head.Meta.UID)
		_, err := a.Apply(t.Context(), &schema.Observed{Head: head}, schema.Plan{Create: []schema.Object{{Resource: schema.Pods(), Namespace: "ns", Name: "p", Body: []byte(`{"metadata":{"name":"p"}}`)}}})
		if (err != nil) != (step.code != 0) {
			t.Errorf("%s: %v", step.name, err)
		}
		got := a.Refused(head.Meta.UID)
		for i := range got {
			if got[i].Message == "" || len(got[i].Message) > schema.MaxRefusal {
				t.Errorf("%s: message %q", step.name, got[i].Message)
			}
			got[i].Message = ""
		}
		if diff := cmp.Diff(step.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", step.name, diff)
		}
		now = now.Add(time.Minute)
	}
}

// TestRefusalsAreBounded: in number, and in time if they are not repeated.
func TestRefusalsAreBounded(t *testing.T) {
	now := time.Unix(1767225600, 0)
	n := newRefusals(func() time.Time { return now })
	for i := range 10 * mostRefusals {
		name := fmt.Sprintf("p-%03d", i)
		n.note("u", schema.Object{Resource: schema.Pods(), Namespace: "ns", Name: name}, &writeError{"create", schema.Pods(), name, apierrors.NewBadRequest("x")})
	}
	if got := n.of("u"); len(got) != mostRefusals || got[0].Name != "p-000" || got[mostRefusals-1].Name != fmt.Sprintf("p-%03d", mostRefusals-1) {
		t.Errorf("%d: %+v", len(got), got)
	}
	now = now.Add(refusalHolds)
	if got := n.of("u"); len(got)+len(n.entries) != 0 {
		t.Errorf("later: %+v, %d objects", got, len(n.entries))
	}
}

// TestOneEventForOneCause: which child is refused, and how much of a quota is used, changes from try to try; what it means does not.
func TestOneEventForOneCause(t *testing.T) {
	a := newTestApplier(t, newAPIServer(t), nil)
	quota := func(name string, used int) error {
		return &writeError{"create", schema.Pods(), name, apierrors.NewForbidden(runtimeschema.GroupResource{Resource: "pods"}, name, fmt.Errorf("exceeded quota: small, used: pods=%d", used))}
	}
	one, other := a.refusal("creating", quota("p-0", 3), "generation 1"), a.refusal("creating", quota("p-1", 4), "generation 1")
	if one.Key == "" || one.Key != other.Key || one.Message == other.Message {
		t.Errorf("%+v and %+v", one, other)
	}
	if diff := cmp.Diff(&schema.Count{Counter: schema.CountRefused, Reason: string(schema.CauseQuota)}, one.Count); diff != "" {
		t.Error(diff)
	}
	invalid := a.refusal("creating", &writeError{"create", schema.Pods(), "p-0", apierrors.NewBadRequest("x")}, "generation 1")
	deletion := a.refusal("deleting", &writeError{"delete", schema.Pods(), "p-0", apierrors.NewBadRequest("x")}, "generation 1")
	taken := a.refusal("creating", &conflictError{schema.Object{Resource: schema.Pods(), Namespace: "ns", Name: "p-0"}, "Widget w", "widget"}, "generation 1")
	if invalid.Key == one.Key || deletion.Key == invalid.Key || deletion.Count != nil || taken.Key != "" || taken.Count.Reason != string(schema.CauseNameTaken) {
		t.Errorf("%+v, %+v, %+v", invalid, deletion, taken)
	}
}
