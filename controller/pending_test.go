package controller

import (
	"testing"
	"time"
)

// TestPendingNews: since when there is news is kept until it is written, or is none any more, and for jobs only that this
// process has written.
func TestPendingNews(t *testing.T) {
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	f := newFloors(func() time.Time { return now })
	is := func(when string, want time.Time) {
		t.Helper()
		if _, got := f.recorded("a"); !got.Equal(want) {
			t.Errorf("%s: pending since %s, want %s", when, got, want)
		}
	}
	f.pend("a", true)
	if is("never written", time.Time{}); len(f.jobs) != 0 {
		t.Error("a job that was never written takes room")
	}
	f.raise("a", "5", "", "")
	f.pend("a", true)
	first := now
	now = now.Add(time.Second)
	f.pend("a", true)
	is("told twice", first)
	if none := func() string { return "" }; f.check("a", none, none, none) != freshEnough {
		t.Fatal("caches without versions are not trusted")
	}
	is("after a pass has looked at its caches", first)
	f.pend("a", false)
	is("written", time.Time{})
}
