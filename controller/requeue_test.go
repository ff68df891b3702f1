package controller

import (
	"sync/atomic"
	"testing"
	"time"

	"stoic/schema"
)

// TestRequeueOfAPlan: no Requeue of a plan makes an object reconcile in a hot loop, and none makes the engine forget the object.
func TestRequeueOfAPlan(t *testing.T) {
	create := []schema.Object{{Resource: schema.Pods(), Namespace: "ns", Name: "p"}}
	for name, c := range map[string]struct {
		plan Plan
		want time.Duration
	}{
		"never":                        {Plan{}, 0},
		"a time that is over":          {Plan{Requeue: -time.Hour}, shortestRequeue},
		"a time that is over, writing": {Plan{Requeue: -1, Create: create}, shortestRequeue},
		"at once":                      {Plan{Requeue: 1}, shortestRequeue},
		"at once, with a status":       {Plan{Requeue: 1, Status: &struct{}{}}, shortestRequeue},
		"soon":                         {Plan{Requeue: shortestRequeue + 1}, shortestRequeue + 1},
		"the rest of what is created":  {Plan{Requeue: time.Millisecond, Create: create}, time.Millisecond},
		"the rest of what is deleted":  {Plan{Requeue: time.Millisecond, Delete: []schema.Deletion{{}}}, time.Millisecond},
		"the rest of what is patched":  {Plan{Requeue: time.Millisecond, Patch: []schema.Patch{{}}}, time.Millisecond},
		"later":                        {Plan{Requeue: time.Hour}, time.Hour},
	} {
		if got := requeueOf(&c.plan); got != c.want {
			t.Errorf("%s: again in %s, want %s", name, got, c.want)
		}
	}
}

// TestRequeueIsNoHotLoop: a Decide that wants to decide again in a nanosecond, or whose time is over, decides again, but not at once.
func TestRequeueIsNoHotLoop(t *testing.T) {
	for name, requeue := range map[string]time.Duration{"at once": 1, "a time that is over": -time.Minute} {
		t.Run(name, func(t *testing.T) {
			const times = 4
			var began, decided atomic.Int64
			var took atomic.Int64
			s := newAPIServer(t)
			s.locked(func() {
				s.Serve(gatherers())
				s.store(gatherersPath+"a", map[string]any{"apiVersion": "example.com/v1", "kind": "Gatherer", "spec": map[string]any{"gathers": "x"},
					"metadata": map[string]any{"name": "a", "namespace": "ns", "uid": "u"}})
			})
			w := Typed(gathererResource("Gatherer"), func(*gatherer, Observed) (p Plan) {
				switch decided.Add(1) {
				case 1:
					began.Store(time.Now().UnixNano())
				case times:
					took.Store(time.Now().UnixNano() - began.Load())
				}
				p.Requeue = requeue
				return p
			}, []*Owned{{Resource: schema.Pods()}})
			start(t, newTestController(t, s, func(o *Options) { o.Watches = []Watch{w} }))
			eventually(t, "it to be decided some times", func() bool { return took.Load() > 0 })
			// The first events of the pods may have queued it once beside.
			if got, least := time.Duration(took.Load()), (times-2)*shortestRequeue; got < least {
				t.Errorf("decided %d times in %s, want %s at least", times, got, least)
			}
		})
	}
}
