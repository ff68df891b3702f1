package cache

import (
	"net/http"
	"sync"
	"sync/atomic"
	"testing"

	"stoic/controller/watch"
	"stoic/test/faults/apimodel/server"
)

// expireWatch makes the API server answer 410 to the next watch of widgets that resumes. Before that it calls meanwhile, of which the
// watch has no event. It ends the watch that runs now.
func (s *apiServer) expireWatch(meanwhile func()) {
	var done atomic.Bool
	s.locked(func() {
		s.fail = func(q server.Request) int {
			if q.Resource != "widgets" || !q.Watch || q.URL.Query().Has("sendInitialEvents") || done.Swap(true) {
				return 0
			}
			meanwhile()
			return http.StatusGone
		}
		s.Cut()
	})
}

// TestChildThatWentBeforeAnExpiredWatch: a child is deleted while its watch is down, and the API server has no history for the watch when
// it resumes. The new informer has never known the child. Its owner is queued nevertheless.
func TestChildThatWentBeforeAnExpiredWatch(t *testing.T) {
	s := newAPIServer(t)
	owner, other := headOf(widgets(), "ns", "owner"), headOf(widgets(), "ns", "other")
	s.put(widgetsPath+"gone", ownedBy(owner, nil))
	s.put(widgetsPath+"stays", ownedBy(other, nil))
	source, typed := s.source(t, "")
	var mu sync.Mutex
	woken := map[string]int{}
	var all atomic.Int64
	d := NewDependents(source, typed, &watch.Owned{Resource: widgets()}, func(o Owner) { mu.Lock(); defer mu.Unlock(); woken[o.Name]++ }, func() { all.Add(1) })
	background(t, d.Serve)
	eventually(t, "the watch", func() bool { return watching(s) && d.Known() })
	s.put(widgetsPath+"stays", ownedBy(other, map[string]any{"a": "b"})) // after a watch that had no event a reflector lists again anyway
	eventually(t, "the event", func() bool { mu.Lock(); defer mu.Unlock(); return woken["other"] == 2 })
	if n := all.Load(); n != 0 {
		t.Fatalf("all were queued %d times before anything happened", n)
	}
	first := d.informer.Load()
	s.expireWatch(func() { s.Drop(widgetsPath + "gone") })
	eventually(t, "another informer", func() bool { now := d.informer.Load(); return now != nil && now != first && d.Known() })
	eventually(t, "all to be queued", func() bool { return all.Load() == 1 })
	if n := len(d.Of(owner).Items); n != 0 {
		t.Errorf("%d children are shown", n)
	}
}

// TestReadThatChangedBeforeAnExpiredWatch: the same for what all decisions depend on, whose first list queues no object.
func TestReadThatChangedBeforeAnExpiredWatch(t *testing.T) {
	s := newAPIServer(t)
	s.put(widgetsPath+"a", map[string]any{})
	source, _ := s.source(t, "")
	var woken atomic.Int64
	d := NewReads(source, &watch.Read{Resource: widgets()}, func() { woken.Add(1) })
	background(t, d.Serve)
	eventually(t, "the watch", func() bool { return watching(s) && d.Known() })
	s.put(widgetsPath+"a", map[string]any{"spec": map[string]any{"value": "old"}})
	eventually(t, "the event", func() bool { return woken.Load() == 1 })
	s.expireWatch(func() {
		s.Store(widgetsPath+"a", map[string]any{"spec": map[string]any{"value": "new"}})
		s.Store(widgetsPath+"b", map[string]any{})
	})
	eventually(t, "all to be queued", func() bool { return woken.Load() == 2 })
}
