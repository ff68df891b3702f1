package controller

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"testing"

	"stoic/controller/apply"
	"stoic/schema"
	"stoic/test/faults/apimodel"
	"stoic/training/kinds"
)

// watchOnly runs the caches of a controller until the test ends, and no worker: the test reconciles.
func watchOnly(t *testing.T, c *Controller) {
	t.Helper()
	ctx, stop := context.WithCancel(context.Background())
	var running sync.WaitGroup
	for _, d := range c.dependents {
		running.Go(func() { d.Serve(ctx) })
	}
	for _, w := range c.watchers {
		running.Go(func() { w.objects.Serve(ctx) })
	}
	t.Cleanup(func() { stop(); running.Wait() })
	eventually(t, "the caches to be filled", func() bool { return c.childrenReady() && c.watchers[0].objects.Ready() })
}

// newest returns the version of job a that the API server has.
func (s *apiServer) newest() (version string) {
	s.locked(func() { version, _ = apimodel.Get(s.At(jobsPath+"a"), "metadata", "resourceVersion").(string) })
	return version
}

// TestObservesTheNewest: an event of the object arrives after the object was looked up, and before the caches are found to be fresh. The
// decision is made on what the cache holds now: a write at the older version would be a conflict, and the decision may be wrong. Found by
// the fault rig, as a conflict in one run of some hundreds.
func TestObservesTheNewest(t *testing.T) {
	s := newAPIServer(t)
	var decided []string
	c := newTestController(t, s, func(o *Options) {
		o.Watches = jobs(o, kinds.TFJob())
		o.Watches[0].Decide = func(seen schema.Observed) schema.Plan {
			decided = append(decided, seen.Head.Meta.ResourceVersion)
			return schema.Plan{}
		}
	})
	l := c.watchers[0]
	var once sync.Once
	versionOf, armed := l.versions[0], false
	l.versions[0] = func() string {
		if armed {
			once.Do(func() {
				s.put(job("a", 2, `{}`))
				eventually(t, "the edit to be in the cache", func() bool { return l.objects.Get("ns/a").Meta.ResourceVersion == s.newest() })
			})
		}
		return versionOf()
	}
	watchOnly(t, c)
	s.put(job("a", 1, `{}`))
	eventually(t, "the job to be in the cache", func() bool { return l.objects.Get("ns/a") != nil })
	l.store.RequireChildVersion(l.objects.Get("ns/a").Meta.UID, 0, "1")
	before := s.newest()
	armed = true
	if _, err := l.reconcile(t.Context(), "ns/a"); err != nil {
		t.Fatal(err)
	}
	if after := s.newest(); after == before || len(decided) != 1 || decided[0] != after {
		t.Errorf("decided at versions %v; the object was at %s when it was looked up, and is at %s", decided, before, after)
	}
}

// TestLastFinalizer: the write that removes the last finalizer of an object that is being deleted ends the object, and its answer has no
// version that a cache could be compared with. A cache that still shows the object is behind: it is not finalized twice. Found by the
// fault rig, as a PATCH that was answered with 404.
func TestLastFinalizer(t *testing.T) {
	for name, finalizers := range map[string][]any{
		"the last":   {"example.com/ours"},
		"one of two": {"example.com/ours", "example.com/of-another"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newAPIServer(t)
			controller := newTestController(t, s, func(o *Options) {
				o.Watches = jobs(o, kinds.TFJob())
				o.Watches[0].Decide = func(seen schema.Observed) (plan schema.Plan) {
					if seen.Head.Meta.DeletionTimestamp != nil {
						plan.RemoveFinalizers = []string{"example.com/ours"}
					}
					return plan
				}
			})
			l := controller.watchers[0]
			watchOnly(t, controller)
			guarded := job("a", 1, `{}`)
			guarded["metadata"].(map[string]any)["finalizers"] = finalizers
			s.put(guarded)
			request, err := http.NewRequestWithContext(t.Context(), http.MethodDelete, s.Config().Host+jobsPath+"a", http.NoBody)
			if err != nil {
				t.Fatal(err)
			}
			answer, err := s.Config().Transport.RoundTrip(request)
			if err != nil || answer.StatusCode != http.StatusOK || answer.Body.Close() != nil {
				t.Fatalf("DELETE: %v, %v", answer, err)
			}
			eventually(t, "the deletion to be in the cache", func() bool {
				cached := l.objects.Get("ns/a")
				return cached != nil && cached.Meta.DeletionTimestamp != nil
			})
			s.locked(func() { s.held["tfjobs"] = true })
			l.store.SetVerified(l.objects.Get("ns/a").Meta.UID)
			if _, err := l.reconcile(t.Context(), "ns/a"); err != nil {
				t.Fatal(err)
			}
			for range 3 {
				if _, err := l.reconcile(t.Context(), "ns/a"); !errors.Is(err, apply.ErrBehind) {
					t.Errorf("while the cache shows the past: %v, want ErrBehind", err)
				}
			}
			if n := s.count("PATCH tfjobs a"); n != 1 {
				t.Errorf("%d writes, want 1", n)
			}
			s.locked(func() { s.held["tfjobs"] = false })
			if len(finalizers) > 1 {
				eventually(t, "a reconcile on the present", func() bool { _, err := l.reconcile(t.Context(), "ns/a"); return err == nil })
				return
			}
			eventually(t, "the end of the object, and nothing kept of it", func() bool { return l.objects.Get("ns/a") == nil && l.store.Len() == 0 })
		})
	}
}
