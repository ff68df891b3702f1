package consistency

import (
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// versions are the states of the three caches of one check.
type versions struct{ object, pods, services string }

func (v versions) check(s *Store) Freshness {
	return s.Check("uid", func() string { return v.object }, []func() string{func() string { return v.pods }, func() string { return v.services }})
}

func TestCheck(t *testing.T) {
	now := time.Unix(1000, 0)
	s := NewStore(func() time.Time { return now })

	if got := (versions{"1", "1", "1"}).check(s); got != Fresh {
		t.Errorf("nothing written: %v, want fresh enough", got)
	}
	s.WroteObject("uid", "")
	if s.Len() != 0 {
		t.Error("a write without a version left an entry")
	}
	s.WroteObject("uid", "10")
	s.RequireChildVersion("uid", 0, "12")
	s.RequireChildVersion("uid", 0, "11") // an answer that comes late lowers nothing
	s.RequireChildVersion("uid", 1, "9")

	for _, c := range []struct {
		caches versions
		want   Freshness
	}{
		{versions{"9", "12", "9"}, Behind},
		{versions{"10", "11", "9"}, Behind},
		{versions{"10", "12", "8"}, Behind},
		{versions{"10", "12", "9"}, Fresh},
		{versions{"100", "99", "98"}, Fresh}, // compared as numbers, not as texts
	} {
		if got := c.caches.check(s); got != c.want {
			t.Errorf("caches at %v: %v, want %v", c.caches, got, c.want)
		}
		s.WroteObject("uid", "10")
		s.RequireChildVersion("uid", 0, "12")
		s.RequireChildVersion("uid", 1, "9")
	}
}

func TestPatienceEnds(t *testing.T) {
	for name, c := range map[string]struct {
		require  func(s *Store, uid types.UID, child int, version string)
		patience time.Duration
	}{
		"our own write":        {(*Store).RequireChildVersion, Patience},
		"what a patch follows": {(*Store).RequireFollowed, FollowedPatience},
	} {
		t.Run(name, func(t *testing.T) {
			now := time.Unix(1000, 0)
			s := NewStore(func() time.Time { return now })
			c.require(s, "uid", 0, "50")
			old := versions{"1", "1", "1"}
			if got := old.check(s); got != Behind {
				t.Fatalf("at first: %v, want too old", got)
			}
			now = now.Add(c.patience - time.Millisecond)
			if got := old.check(s); got != Behind {
				t.Errorf("just before patience ends: %v, want too old", got)
			}
			c.require(s, "uid", 0, "51") // as each reconcile of that time does
			now = now.Add(time.Millisecond)
			if got := old.check(s); got != ReadLive {
				t.Errorf("when patience ends: %v, want to read live", got)
			}
			s.Forget("uid") // as the live read does
			if got := old.check(s); got != Fresh {
				t.Errorf("after the live read: %v, want fresh enough", got)
			}
		})
	}
}

// TestGone: the write that removes the last finalizer reports no version. A cache that still shows the object is behind, at whatever
// version it is, until its deletion is seen or the API server is read.
func TestGone(t *testing.T) {
	for name, end := range map[string]func(*Store){
		"the deletion is seen":      func(s *Store) { s.Forget("uid") },
		"it was read, and is there": func(s *Store) { s.ReadFromServer("uid", "30", nil) },
		"it was deleted unseen":     func(s *Store) { s.ForgetAll(func(uid types.UID) bool { return uid == "uid" }) },
	} {
		t.Run(name, func(t *testing.T) {
			now := time.Unix(1000, 0)
			s := NewStore(func() time.Time { return now })
			caches := versions{"30", "30", "30"}
			s.Gone("uid")
			for range 2 {
				if got := caches.check(s); got != Behind {
					t.Errorf("the cache shows what is gone: %v, want Behind", got)
				}
			}
			now = now.Add(Patience)
			if got := caches.check(s); got != ReadLive {
				t.Errorf("it shows it for long: %v, want ReadLive", got)
			}
			end(s)
			if got := caches.check(s); got != Fresh {
				t.Errorf("after that: %v, want Fresh", got)
			}
		})
	}
}

// TestIsOwnEcho: our own status write returns as an event. It needs a reconcile only if one was put off until then.
func TestIsOwnEcho(t *testing.T) {
	s := NewStore(time.Now)
	if s.IsOwnEcho("uid", "10") {
		t.Error("an event of a job that was never written to is taken for our own")
	}
	s.WroteObject("uid", "10")
	if !s.IsOwnEcho("uid", "10") {
		t.Error("the echo of our write is not known")
	}
	if s.IsOwnEcho("uid", "11") {
		t.Error("somebody else's write is taken for our own")
	}
	if got := (versions{"9", "", ""}).check(s); got != Behind {
		t.Fatalf("%v, want too old", got)
	}
	if s.IsOwnEcho("uid", "10") {
		t.Error("a reconcile waits for this event, and it was swallowed")
	}
	if !s.IsOwnEcho("uid", "10") {
		t.Error("woken once, the reconcile waits no more")
	}
	if got := (versions{"10", "", ""}).check(s); got != Fresh {
		t.Errorf("%v, want fresh enough", got)
	}
	if !s.IsOwnEcho("uid", "10") {
		t.Error("the version of our write was forgotten when the caches reached it")
	}
}

func TestVersionsThatCannotBeComparedBoundNothing(t *testing.T) {
	if Newer("", "5") != "5" || Newer("5", "") != "5" || Newer("x", "5") != "x" {
		t.Error("newer")
	}
	for _, c := range []struct {
		store, required string
		want            bool
	}{{"", "5", true}, {"5", "", true}, {"x", "5", true}, {"5", "x", true}, {"4", "5", false}, {"5", "5", true}, {"10", "9", true}} {
		if got := Reached(c.store, c.required); got != c.want {
			t.Errorf("Reached(%q, %q) = %v", c.store, c.required, got)
		}
	}
}

// TestRequireChildVersion: a reconcile waits for children of each resource that it wrote; a resource without a cache is not waited for.
func TestRequireChildVersion(t *testing.T) {
	s := NewStore(time.Now)
	at := ""
	caches := []func() string{nil, nil, func() string { return at }}
	check := func() Freshness {
		s.RequireChildVersion("uid", 2, "20")
		s.RequireChildVersion("uid", 1, "99")
		return s.Check("uid", func() string { return "" }, caches)
	}
	if at = "19"; check() != Behind {
		t.Error("an older cache is trusted")
	}
	if at = "20"; check() != Fresh {
		t.Error("a cache that holds our own write is not trusted")
	}
	at = ""
	if check() != Fresh {
		t.Error("a cache that has no version now is waited for: its resource may be absent")
	}
	if at = "19"; s.Check("uid", func() string { return "" }, caches) != Behind {
		t.Error("a cache whose new list is older than our own write is trusted")
	}
	if at = "20"; s.Check("uid", func() string { return "" }, caches) != Fresh {
		t.Error("a cache whose new list holds our own write is not trusted")
	}
	if at = "19"; s.Check("uid", func() string { return "" }, caches) != Fresh {
		t.Error("what a cache has reached is still required")
	}
	caches[2] = nil
	if check() != Fresh {
		t.Error("a resource that is not watched is waited for")
	}
	s.RequireChildVersion("other", 0, "")
	if s.Len() != 1 {
		t.Error("a write without a version left an entry")
	}
}

// TestAnotherWritersVersionIsNoEcho: another client's version is waited for, and its event is not our echo: it queues the object even if
// no reconcile has been put off in between.
func TestAnotherWritersVersionIsNoEcho(t *testing.T) {
	s := NewStore(time.Now)
	s.WroteObject("uid", "10")
	if got := (versions{"10", "", ""}).check(s); got != Fresh {
		t.Fatalf("%v, want fresh", got)
	}
	s.RequireObjectVersion("uid", "11")
	if s.IsOwnEcho("uid", "11") {
		t.Error("the update of another writer is dropped as the echo of our own write")
	}
	if !s.IsOwnEcho("uid", "10") {
		t.Error("the echo of our own write is not known any more")
	}
	if got := (versions{"10", "", ""}).check(s); got != Behind {
		t.Errorf("a cache below the version of the other writer: %v, want behind", got)
	}
	s.WroteObject("uid", "12")
	s.IsOwnEcho("uid", "12") // a reconcile waits for it
	if !s.IsOwnEcho("uid", "12") {
		t.Error("the echo of the next write of our own is not known")
	}
}

// TestPendingSince: the time since which a change is pending is kept until it is written or no longer pending, and only
// for objects that this process has written.
func TestPendingSince(t *testing.T) {
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	s := NewStore(func() time.Time { return now })
	is := func(when string, want time.Time) {
		t.Helper()
		if _, got := s.Written("a"); !got.Equal(want) {
			t.Errorf("%s: pending since %s, want %s", when, got, want)
		}
	}
	s.SetPending("a", true)
	if is("never written", time.Time{}); s.Len() != 0 {
		t.Error("a job that was never written takes room")
	}
	s.WroteObject("a", "5")
	s.SetPending("a", true)
	first := now
	now = now.Add(time.Second)
	s.SetPending("a", true)
	is("told twice", first)
	if none := func() string { return "" }; s.Check("a", none, []func() string{none, none}) != Fresh {
		t.Fatal("caches without versions are not trusted")
	}
	is("after a reconcile has looked at its caches", first)
	s.SetPending("a", false)
	is("written", time.Time{})
}
