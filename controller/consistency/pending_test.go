package consistency

import (
	"testing"
	"time"
)

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
