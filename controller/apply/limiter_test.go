package apply

import (
	"errors"
	"testing"
	"time"
)

func TestLimiter(t *testing.T) {
	now := time.Unix(1000, 0)
	b := newLimiter(64, func() time.Time { return now })
	// slow lets so many creations end that took a second each.
	slow := func(times int, apart time.Duration) {
		for range times {
			now = now.Add(apart)
			if err := b.do(t.Context(), func() error { now = now.Add(time.Second); return nil }); err != nil {
				t.Fatal(err)
			}
			now = now.Add(-time.Second)
		}
	}
	quick := func(times int) {
		for range times {
			_ = b.do(t.Context(), func() error { return errors.New("refused, but at once") })
		}
	}
	// is checks how many find a slot.
	is := func(when string, want int) {
		t.Helper()
		free := 0
		for b.slots.TryAcquire(1) {
			free++
		}
		b.slots.Release(int64(free))
		if free != want {
			t.Errorf("%s: %d, want %d", when, free, want)
		}
	}
	defer b.enter()()
	leave := b.enter()
	// A creation can withhold only its own slot, so each reduction is complete when as many have ended.
	is("at first", maxConcurrent)
	slow(2, 0)
	is("after two that were slow", maxConcurrent)
	slow(1, 0)
	slow(14, time.Millisecond)
	is("when they are slow on average, and those that were under way have left", 11)
	slow(20, 2*time.Second)
	slow(30, time.Millisecond)
	is("while all are slow", minimum)
	quick(11)
	is("while the average is still slow", minimum)
	quick(minimum)
	is("when it is not", minimum+1)
	quick(3000)
	is("when all are quick", 64)
	slow(3, 2*time.Second)
	slow(64, time.Millisecond)
	is("when they are slow again", 43)
	slow(30, 2*time.Second)
	slow(64, time.Millisecond)
	is("when they stay slow", minimum)
	leave()
	slow(1, 2*time.Second)
	is("slow, but of one reconcile alone", maxConcurrent)
	slow(10, 2*time.Second)
	is("still of one reconcile alone", maxConcurrent)
}
