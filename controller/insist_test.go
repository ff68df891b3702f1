package controller

import (
	"context"
	"errors"
	"net/http"
	"sync/atomic"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	runtimeschema "k8s.io/apimachinery/pkg/runtime/schema"

	"stoic/schema"
)

// Lists that failed a few times, as while a conversion webhook is down: the operator goes on soon after they work.
func TestOutageIsOverWhenItIsOver(t *testing.T) {
	for _, listed := range []string{"tfjobs", "pods"} {
		t.Run(listed, func(t *testing.T) {
			t.Parallel()
			s := newAPIServer(t)
			var failures atomic.Int32
			s.refuse = func(verb, resource, name string) *refusing {
				if verb == http.MethodGet && resource == listed && name == "" && failures.Add(1) <= 4 {
					return &refusing{http.StatusInternalServerError, metav1.StatusReasonInternalError, "conversion webhook failed"}
				}
				return nil
			}
			start(t, newTestController(t, s, nil))
			s.put(job("a", 1, `{}`))
			eventually(t, "the pod", func() bool { return len(s.names("pods")) == 1 })
			if failures.Load() < 4 {
				t.Errorf("%d lists failed: this shows nothing", failures.Load())
			}
		})
	}
}

func TestInsist(t *testing.T) {
	resource := runtimeschema.GroupResource{Resource: "tfjobs"}
	tooLarge := apierrors.NewTimeoutError("Too large resource version: 9, current: 1", 1)
	tooLarge.ErrStatus.Details.Causes = []metav1.StatusCause{{Type: metav1.CauseTypeResourceVersionTooLarge}}
	for want, errs := range map[bool][]error{
		true: {errors.New("connection refused"), apierrors.NewInternalError(errors.New("x")), apierrors.NewServiceUnavailable("x"),
			apierrors.NewTooManyRequests("x", 0)},
		false: {nil, tooLarge, apierrors.NewNotFound(resource, "x"), apierrors.NewForbidden(resource, "x", nil),
			apierrors.NewResourceExpired("x"), apierrors.NewBadRequest("x")},
	} {
		for _, err := range errs {
			if got := passing(err); got != want {
				t.Errorf("%v is passing: %v, want %v", err, got, want)
			}
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	told, asked := 0, 0
	_, err := insist(ctx, func(error) { told++; cancel() }, func() (int, error) { asked++; return 0, errors.New("down") })
	if err == nil || told != 1 || asked != 2 {
		t.Errorf("stopped while it insisted: %v, told %d times, asked %d times", err, told, asked)
	}
}

// A status subresource that comes is used soon, however often it was missed before.
func TestStatusSubresourceComesLate(t *testing.T) {
	s := newAPIServer(t)
	s.noStatus = true
	c := newTestController(t, s, nil)
	l := c.loops[0]
	for range 20 {
		l.failures.When("ns/a")
	}
	start(t, c)
	s.put(job("a", 1, `{}`))
	eventually(t, "a try", func() bool { return s.count("PATCH tfjobs/status") > 0 })
	s.locked(func() { s.noStatus = false })
	eventually(t, "the status", func() bool { st := s.head("a"); return st.Is(schema.Created) })
}
