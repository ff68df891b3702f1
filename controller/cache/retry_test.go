package cache

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	runtimeschema "k8s.io/apimachinery/pkg/runtime/schema"

	"stoic/controller/watch"
	"stoic/schema"
	"stoic/test/faults/apimodel/server"
)

// TestOutageIsOverWhenItIsOver: lists that failed a few times, as while a conversion webhook is down, are repeated soon, and so are the
// starts of watches.
func TestOutageIsOverWhenItIsOver(t *testing.T) {
	for _, listed := range []string{"widgets", "pods"} {
		t.Run(listed, func(t *testing.T) {
			t.Parallel()
			s := newAPIServer(t)
			var lists, watches atomic.Int32
			s.fail = func(r server.Request) int {
				query := r.URL.Query()
				switch {
				case !strings.HasSuffix(r.URL.Path, "/"+listed):
				case query.Has("watch") && !query.Has("sendInitialEvents") && watches.Add(1) <= 2:
					return http.StatusServiceUnavailable
				case !query.Has("watch") && !query.Has("fieldSelector") && lists.Add(1) <= 4:
					return http.StatusInternalServerError
				}
				return 0
			}
			owner := headOf(widgets(), "ns", "a")
			d := newTestDependents(t, s, "", &watch.Owned{Resource: widgets()}, nil)
			path := widgetsPath
			if listed == "pods" {
				d = newTestDependents(t, s, "", &watch.Owned{Resource: schema.Pods(), SlimTyped: slimName}, nil)
				path = podsPath
			}
			background(t, d.Serve)
			s.put(path+"b", ownedBy(owner, nil))
			eventually(t, "the list", func() bool { return len(d.Of(owner).Items) == 1 })
			s.put(path+"c", ownedBy(owner, nil))
			eventually(t, "the watch", func() bool { return len(d.Of(owner).Items) == 2 })
			if lists.Load() < 4 || watches.Load() < 2 {
				t.Errorf("%d lists and %d watches were asked for: this shows nothing", lists.Load(), watches.Load())
			}
		})
	}
}

func TestRetryTransient(t *testing.T) {
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
			if got := isTransient(err); got != want {
				t.Errorf("%v is transient: %v, want %v", err, got, want)
			}
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	reported, asked := 0, 0
	_, err := retryTransient(ctx, func(error) { reported++; cancel() }, func() (int, error) { asked++; return 0, errors.New("down") })
	if err == nil || reported != 1 || asked != 2 {
		t.Errorf("stopped between two tries: %v, reported %d times, asked %d times", err, reported, asked)
	}
}
