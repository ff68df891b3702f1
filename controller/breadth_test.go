package controller

import (
	"testing"
	"time"
)

func TestBreadth(t *testing.T) {
	now := time.Unix(1000, 0)
	b := newBreadth(func() time.Time { return now })
	slow := func(times int, apart time.Duration) {
		for range times {
			now = now.Add(apart)
			b.took(time.Second)
		}
	}
	is := func(when string, want int) {
		t.Helper()
		if got := b.is(); got != want {
			t.Errorf("%s: %d, want %d", when, got, want)
		}
	}
	is("at first", atOnce)
	slow(1, 0)
	is("after one that was slow", 11)
	slow(80, 10*time.Millisecond)
	is("after those that were under way then", 11)
	slow(1, time.Second)
	is("after one more", 7)
	slow(100, time.Second)
	is("while all are slow", narrowest)
	for range 2 {
		b.took(soon)
	}
	is("when two were soon done", narrowest+1)
	for range 200 {
		b.took(time.Millisecond)
	}
	is("when all are", atOnce)
}
