package apply

import (
	"context"
	"fmt"
	"math"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"
)

// Limiter limits the concurrent creations of all reconciles to what the API server completes within 250 ms. More would
// wait in its queues, ahead of the status of running objects and of the events that we wait for. Slots are given first
// come, first served, so that the pods of one job are created one after the other and not in turns with those of seven
// others.
//
//	creations take, on average    concurrent creations
//	up to target                  one more after as many creations as are allowed, to the maximum
//	longer                        a third less, not more than once in the time that a creation takes, to the minimum;
//	                              while one reconcile creates alone, to maxConcurrent, which is what it may have by
//	                              itself: the only status that it could delay is its own
type Limiter struct {
	slots *semaphore.Weighted // of maximum; those beyond limit are withheld
	now   func() time.Time

	mu       sync.Mutex
	creating int // reconciles that create
	limit    float64
	maximum  int
	withheld int
	average  time.Duration // of the last creations, weighted: one that is slow by itself says little
	reduced  time.Time
}

const (
	// maxConcurrent is how many requests of one reconcile are under way at the same time, at most.
	maxConcurrent = 16

	target       = 250 * time.Millisecond
	reduction    = 2.0 / 3
	averagedOver = 8 // the weight of the last creation is one in so many
	// minimum keeps one slow request from holding up all others.
	minimum = 4
)

// NewLimiter limits the creations of so many workers.
func NewLimiter(workers int, now func() time.Time) *Limiter {
	return newLimiter(maxConcurrent*max(workers, 1), now)
}

func newLimiter(maximum int, now func() time.Time) *Limiter {
	l := &Limiter{slots: semaphore.NewWeighted(int64(maximum)), now: now, maximum: maximum, limit: float64(min(maxConcurrent, maximum))}
	l.withheld = maximum - int(l.limit)
	l.slots.TryAcquire(int64(l.withheld)) // all are free yet
	return l
}

// enter counts one more reconcile that creates, until it calls leave.
func (l *Limiter) enter() (leave func()) {
	l.count(1)
	return func() { l.count(-1) }
}

func (l *Limiter) count(more int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.creating += more
}

// do calls create when there is a slot, or gives up when ctx ends.
func (l *Limiter) do(ctx context.Context, create func() error) error {
	if err := l.slots.Acquire(ctx, 1); err != nil {
		return fmt.Errorf("wait for a slot to create: %w", err)
	}
	began := l.now()
	defer func() { l.release(l.now().Sub(began)) }()
	return create()
}

// release returns the slot of a creation that took so long: more than one slot if the limit rises, none if it falls.
func (l *Limiter) release(took time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.adjust(took)
	// One creation can withhold no more than its own slot; the next ones withhold the rest.
	more := min(l.maximum-int(math.Round(l.limit))-l.withheld, 1)
	l.withheld += more
	l.slots.Release(int64(1 - more))
}

func (l *Limiter) adjust(took time.Duration) {
	least := float64(min(minimum, l.maximum))
	if l.creating <= 1 {
		least = float64(min(maxConcurrent, l.maximum))
	}
	l.average += (took - l.average) / averagedOver
	if l.average <= target {
		l.limit += 1 / l.limit
	} else if now := l.now(); now.Sub(l.reduced) >= l.average { // creations that began before the last change say nothing of it
		l.limit, l.reduced = l.limit*reduction, now
	}
	l.limit = min(max(l.limit, least), float64(l.maximum))
}
