package cache

import (
	"context"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	runtimeschema "k8s.io/apimachinery/pkg/runtime/schema"

	"stoic/controller/consistency"
	"stoic/controller/watch"
	"stoic/convert"
	"stoic/test/faults/apimodel/server"
)

// TestReadyWhileAllIsListedAgain: an API server answers 410 to a watch that it has no history for, as after its own restart. All is then
// listed again. The process has read it once and is as ready as while a watch lags. It is not ready while its resource is served again
// after an absence, or has not been read at all.
func TestReadyWhileAllIsListedAgain(t *testing.T) {
	s := newAPIServer(t)
	s.put(widgetsPath+"a", map[string]any{})
	source, _ := s.source(t, "")
	ignore := func(*convert.Result) {}
	objects := NewObjects(source, widgets(), headOnly, Handlers{Added: ignore, Updated: func(_, _ *convert.Result) {}, Deleted: ignore, Replaced: ignoreReplaced})
	dependents := newTestDependents(t, s, "", &watch.Owned{Resource: widgets()}, nil)
	noPause := func(ctx context.Context, _ time.Duration) { pause(ctx, 5*time.Millisecond) }
	objects.pause, dependents.pause = noPause, noPause
	caches := map[string]func() bool{"objects": objects.Ready, "dependents": dependents.Ready}
	lists, failing := atomic.Int64{}, false
	unreadable := func(q server.Request) int {
		switch {
		case !failing || q.Resource != "widgets":
			return 0
		case q.Watch && !q.URL.Query().Has("sendInitialEvents"):
			return http.StatusGone
		}
		lists.Add(1)
		return http.StatusServiceUnavailable
	}
	s.locked(func() { s.fail = unreadable; failing = true })
	background(t, objects.Serve)
	background(t, dependents.Serve)
	eventually(t, "lists that fail", func() bool { return lists.Load() > 2 })
	for name, ready := range caches {
		if ready() {
			t.Errorf("%s are ready although they were never read", name)
		}
	}
	s.locked(func() { failing = false })
	for name, ready := range caches {
		eventually(t, name+" to be ready", ready)
	}
	eventually(t, "the watches", func() bool { return watching(s) && objects.Get("ns/a") != nil && dependents.Known() })
	s.put(widgetsPath+"b", map[string]any{}) // after a watch that had no event a reflector lists again anyway, without 410
	eventually(t, "the event", func() bool {
		return objects.Get("ns/b") != nil && consistency.Reached(dependents.Version(), objects.Version())
	})
	lists.Store(0)
	s.locked(func() { failing = true; s.Cut() })
	eventually(t, "both caches to be filled again", func() bool {
		for name, ready := range caches {
			if !ready() {
				t.Fatalf("%s are not ready while they are listed again", name)
			}
		}
		return lists.Load() > 4 && objects.informer.Load() != nil && objects.Get("ns/a") == nil && !dependents.Known()
	})
	s.locked(func() { failing = false })
	eventually(t, "what was listed again", func() bool { return objects.Get("ns/a") != nil && dependents.Known() })

	s.locked(func() { s.Unserve("widgets"); s.Cut() })
	eventually(t, "absence", func() bool { return objects.absent.Load() && dependents.absent.Load() })
	s.locked(func() { s.serve(widgets(), true); failing = true })
	for name, ready := range caches {
		eventually(t, name+" not to be ready after an absence", func() bool { return !ready() })
	}
}

// TestExpiredWatchIsResumedAtOnce: after 410 to a watch that has lasted, the next one begins without a pause. A watch that ends as soon
// as it begins is not started more often than every recheckAbsent, nor is one of a resource that may be gone.
func TestExpiredWatchIsResumedAtOnce(t *testing.T) {
	a := newTestAvailability("TFJob")
	now := time.Unix(1000, 0)
	a.now = func() time.Time { return now }
	a.served = func(context.Context) (bool, error) { return true, nil }
	ctx, stop := context.WithCancel(t.Context())
	expired := apierrors.NewResourceExpired("too old resource version")
	gone := apierrors.NewNotFound(runtimeschema.GroupResource{Resource: "tfjobs"}, "")
	ends := []error{expired, expired, expired, expired, gone, expired}
	lasts := []time.Duration{time.Hour, 0, recheckAbsent, recheckAbsent - 1, time.Hour, time.Hour}
	want := []time.Duration{0, recheckAbsent, 0, recheckAbsent, recheckAbsent, 0}
	watched := 0
	a.watch = func(_ context.Context, report func(error)) {
		report(ends[watched])
		now = now.Add(lasts[watched])
		watched++
	}
	paused := 0
	a.pause = func(_ context.Context, d time.Duration) {
		if d != want[paused] {
			t.Errorf("a pause of %s after a watch of %s, want %s", d, lasts[paused], want[paused])
		}
		if paused++; paused == len(lasts) {
			stop()
		}
	}
	a.run(ctx, func() {})
	if watched != len(lasts) || paused != len(lasts) {
		t.Errorf("%d watches and %d pauses", watched, paused)
	}
}
