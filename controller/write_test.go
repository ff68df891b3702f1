package controller

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"
)

func TestInParallel(t *testing.T) {
	var now, most, calls atomic.Int64
	failed := inParallel(5, 105, func(i int) error {
		calls.Add(1)
		for n := now.Add(1); ; {
			m := most.Load()
			if n <= m || most.CompareAndSwap(m, n) {
				break
			}
		}
		defer now.Add(-1)
		switch i {
		case 7:
			return errors.New("seven")
		case 9:
			panic("nine")
		}
		return nil
	})
	if calls.Load() != 100 || most.Load() > atOnce {
		t.Errorf("%d calls, %d at once; want 100, at most %d", calls.Load(), most.Load(), atOnce)
	}
	if len(failed) != 2 || failed[0].Error() != "seven" || !errors.Is(failed[1], errPanicked) {
		t.Errorf("failed: %v", failed)
	}
	if failed := inParallel(3, 3, nil); len(failed) != 0 {
		t.Errorf("nothing to do: %v", failed)
	}
}

// As many as may run at once do: each waits here for all the others.
func TestInParallelIsParallel(t *testing.T) {
	together, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	all := make(chan struct{})
	var begun atomic.Int64
	failed := inParallel(0, atOnce, func(int) error {
		if begun.Add(1) == atOnce {
			close(all)
		}
		select {
		case <-all:
			return nil
		case <-together.Done():
			return together.Err()
		}
	})
	if len(failed) > 0 {
		t.Errorf("%d of %d waited in vain for the others", len(failed), atOnce)
	}
}
