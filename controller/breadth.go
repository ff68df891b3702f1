package controller

import (
	"context"
	"fmt"
	"math"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"
)

// breadth is how many creations are under way at the same time, of all passes: as many as the API server does soon. More
// would wait in its queues, before the status of jobs that run already and before the events that we wait for. Who comes
// first is let in first, so that the pods of a job are made one after the other and not turn about with those of seven others.
//
//	creations take, on average    breadth
//	up to soon                    grows by one after as many creations as it is broad, to most
//	longer                        shrinks by a third, not more than once in the time that a creation takes, to narrowest;
//	                              while one pass creates alone, to atOnce, which is what it may have by itself: the only
//	                              status that it could delay is its own
type breadth struct {
	slots *semaphore.Weighted // of most; those that go beyond width are withheld
	now   func() time.Time

	mu       sync.Mutex
	passes   int // that create
	width    float64
	most     int
	withheld int
	average  time.Duration // of the last ones, weighted: one that is slow by itself says little
	shrunk   time.Time
}

const (
	soon     = 250 * time.Millisecond
	narrowed = 2.0 / 3
	averaged = 8 // the weight of the last one is one in so many
	// narrowest keeps all from being held up by some slow request.
	narrowest = 4
)

func newBreadth(most int, now func() time.Time) *breadth {
	b := &breadth{slots: semaphore.NewWeighted(int64(most)), now: now, most: most, width: float64(min(atOnce, most))}
	b.withheld = most - int(b.width)
	b.slots.TryAcquire(int64(b.withheld)) // all are free yet
	return b
}

// enter says that one more pass creates, until it calls leave.
func (b *breadth) enter() (leave func()) {
	b.count(1)
	return func() { b.count(-1) }
}

func (b *breadth) count(more int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.passes += more
}

// do calls create when it is its turn, or gives up when ctx ends.
func (b *breadth) do(ctx context.Context, create func() error) error {
	if err := b.slots.Acquire(ctx, 1); err != nil {
		return fmt.Errorf("wait for the turn to create: %w", err)
	}
	began := b.now()
	defer func() { b.done(b.now().Sub(began)) }()
	return create()
}

// done gives a slot back after a creation that took so long, and as many more, or fewer, as the new width is another.
func (b *breadth) done(took time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.adjust(took)
	// One that leaves can take no more than its own slot along; the next ones take the rest.
	more := min(b.most-int(math.Round(b.width))-b.withheld, 1)
	b.withheld += more
	b.slots.Release(int64(1 - more))
}

func (b *breadth) adjust(took time.Duration) {
	least := float64(min(narrowest, b.most))
	if b.passes <= 1 {
		least = float64(min(atOnce, b.most))
	}
	b.average += (took - b.average) / averaged
	if b.average <= soon {
		b.width += 1 / b.width
	} else if now := b.now(); now.Sub(b.shrunk) >= b.average { // what was under way at the last change says nothing of it
		b.width, b.shrunk = b.width*narrowed, now
	}
	b.width = min(max(b.width, least), float64(b.most))
}
