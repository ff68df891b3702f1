package controller

import (
	"testing"
	"time"

	"k8s.io/client-go/tools/cache"

	"stoic/schema"
)

// versions are the states of the three caches of one check.
type versions struct{ job, pods, services string }

func (v versions) check(f *floors) freshness {
	return f.check("uid", func() string { return v.job }, func() string { return v.pods }, func() string { return v.services })
}

func TestFloors(t *testing.T) {
	now := time.Unix(1000, 0)
	f := newFloors(func() time.Time { return now })

	if got := (versions{"1", "1", "1"}).check(f); got != freshEnough {
		t.Errorf("nothing written: %v, want fresh enough", got)
	}
	f.raise("uid", "", "", "")
	if len(f.jobs) != 0 {
		t.Error("a write without a version left an entry")
	}
	f.raise("uid", "10", "", "")
	f.raise("uid", "", "12", "")
	f.raise("uid", "", "11", "") // an answer that comes late lowers nothing
	f.raise("uid", "", "", "9")

	for _, c := range []struct {
		caches versions
		want   freshness
	}{
		{versions{"9", "12", "9"}, tooOld},
		{versions{"10", "11", "9"}, tooOld},
		{versions{"10", "12", "8"}, tooOld},
		{versions{"10", "12", "9"}, freshEnough},
		{versions{"100", "99", "98"}, freshEnough}, // compared as numbers, not as texts
	} {
		if got := c.caches.check(f); got != c.want {
			t.Errorf("caches at %v: %v, want %v", c.caches, got, c.want)
		}
		f.raise("uid", "10", "12", "9")
	}
}

func TestFloorsGiveUpWaiting(t *testing.T) {
	now := time.Unix(1000, 0)
	f := newFloors(func() time.Time { return now })
	f.raise("uid", "", "50", "")
	old := versions{"1", "1", "1"}
	if got := old.check(f); got != tooOld {
		t.Fatalf("at first: %v, want too old", got)
	}
	now = now.Add(patience - time.Millisecond)
	if got := old.check(f); got != tooOld {
		t.Errorf("just before patience ends: %v, want too old", got)
	}
	now = now.Add(time.Millisecond)
	if got := old.check(f); got != readLive {
		t.Errorf("when patience ends: %v, want to read live", got)
	}
	f.forget("uid") // as the live read does
	if got := old.check(f); got != freshEnough {
		t.Errorf("after the live read: %v, want fresh enough", got)
	}
}

// Our own status write comes back as an event. It calls for a pass only if one was put off until then.
func TestFloorsKnowOurOwnEcho(t *testing.T) {
	f := newFloors(time.Now)
	if f.own("uid", "10") {
		t.Error("an event of a job that was never written to is taken for our own")
	}
	f.raise("uid", "10", "", "")
	if !f.own("uid", "10") {
		t.Error("the echo of our write is not known")
	}
	if f.own("uid", "11") {
		t.Error("somebody else's write is taken for our own")
	}
	if got := (versions{"9", "", ""}).check(f); got != tooOld {
		t.Fatalf("%v, want too old", got)
	}
	if f.own("uid", "10") {
		t.Error("a pass waits for this event, and it was swallowed")
	}
	if !f.own("uid", "10") {
		t.Error("woken once, the pass waits no more")
	}
	if got := (versions{"10", "", ""}).check(f); got != freshEnough {
		t.Errorf("%v, want fresh enough", got)
	}
	if !f.own("uid", "10") {
		t.Error("the version of our write was forgotten when the caches reached it")
	}
}

func TestVersionsThatCannotBeComparedBoundNothing(t *testing.T) {
	if newer("", "5") != "5" || newer("5", "") != "5" || newer("x", "5") != "x" {
		t.Error("newer")
	}
	for _, c := range []struct {
		store, floor string
		want         bool
	}{{"", "5", true}, {"5", "", true}, {"x", "5", true}, {"5", "x", true}, {"4", "5", false}, {"5", "5", true}, {"10", "9", true}} {
		if got := reached(c.store, c.floor); got != c.want {
			t.Errorf("reached(%q, %q) = %v", c.store, c.floor, got)
		}
	}
}

// A pass waits for the extra objects that it wrote, of the resources that the kind names.
func TestFloorOfExtras(t *testing.T) {
	now := time.Unix(1000, 0)
	f := newFloors(func() time.Time { return now })
	store := cache.NewStore(cache.MetaNamespaceKeyFunc)
	informer := &atStore{store: store}
	e := &extraWatch{resource: schema.PodGroups()}
	var shared cache.SharedIndexInformer = informer
	e.informer.Store(&shared)
	check := func() freshness {
		f.raiseExtra("uid", schema.PodGroups(), "20")
		f.raiseExtra("uid", schema.Autoscalers(), "99")
		now0 := func() string { return "" }
		return f.check("uid", now0, now0, now0, e)
	}
	if informer.version = "19"; check() != tooOld {
		t.Error("an older cache is trusted")
	}
	if informer.version = "20"; check() != freshEnough {
		t.Error("a cache that holds our own write is not trusted")
	}
	e.informer.Store(nil)
	if check() != freshEnough {
		t.Error("what is not watched is waited for")
	}
	f.raiseExtra("other", schema.PodGroups(), "")
	if len(f.jobs) != 1 {
		t.Error("a write without a version left an entry")
	}
}

// atStore is an informer whose store has come as far as the test says.
type atStore struct {
	cache.SharedIndexInformer
	store   cache.Store
	version string
}

func (a *atStore) GetStore() cache.Store { return versioned{a.store, a.version} }

type versioned struct {
	cache.Store
	version string
}

func (v versioned) LastStoreSyncResourceVersion() string { return v.version }
