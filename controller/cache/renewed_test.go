package cache

import (
	"net/http"
	"sync"
	"sync/atomic"
	"testing"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/tools/cache"

	"stoic/controller/watch"
	"stoic/convert"
	"stoic/schema"
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

// TestChildrenWhoseKindGoes: the children of a kind that is no longer served are gone with it.
func TestChildrenWhoseKindGoes(t *testing.T) {
	s := newAPIServer(t)
	owner := headOf(widgets(), "ns", "owner")
	s.put(widgetsPath+"a", ownedBy(owner, nil))
	source, typed := s.source(t, "")
	var all atomic.Int64
	d := NewDependents(source, typed, &watch.Owned{Resource: widgets(), Optional: true}, func(Owner) {}, func() { all.Add(1) })
	background(t, d.Serve)
	eventually(t, "the watch", func() bool { return watching(s) && d.Known() })
	s.locked(func() { s.Unserve("widgets"); s.Cut() })
	eventually(t, "all to be queued", func() bool { return all.Load() == 1 })
}

// endsWhenAsked is an informer that ends just after its HasSynced was called.
type endsWhenAsked struct {
	cache.SharedIndexInformer
	d *Dependents
}

func (i *endsWhenAsked) HasSynced() bool {
	i.d.informer.Store(nil)
	return i.SharedIndexInformer.HasSynced()
}

// TestInformerEndsInBetween: the result is what the checked informer knew, even if it ends before its store is read.
func TestInformerEndsInBetween(t *testing.T) {
	s := newAPIServer(t)
	owner := headOf(widgets(), "ns", "owner")
	s.put(widgetsPath+"a", ownedBy(owner, nil))
	s.put(widgetsPath+"orphan", map[string]any{})
	d := newTestDependents(t, s, "", &watch.Owned{Resource: widgets(), Claims: func(*convert.Result) labels.Selector { return nil }}, nil)
	background(t, d.Serve)
	eventually(t, "the children", d.Known)
	running := *d.informer.Load()
	for name, look := range map[string]func() schema.Children{"of": func() schema.Children { return d.Of(owner) }, "all": d.All} {
		var ends cache.SharedIndexInformer = &endsWhenAsked{running, d}
		d.informer.Store(&ends)
		if found := look(); !found.Unknown && len(found.Items)+len(found.Unclaimed)+len(found.Orphans) != 2 {
			t.Errorf("%s: %+v", name, found)
		}
	}
}
