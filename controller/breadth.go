package controller

import (
	"math"
	"sync"
	"time"
)

// breadth is how many creations of one pass are under way at the same time: as many as the API server does soon. More would
// wait in its queues, before the status of jobs that run already and before the events that we wait for.
//
//	a creation took       breadth
//	up to soon            grows by one after as many such creations as it is broad, to atOnce at most
//	longer                shrinks by a third, not more than once in the time that such a creation takes
type breadth struct {
	mu     sync.Mutex
	width  float64
	shrunk time.Time
	now    func() time.Time
}

const (
	soon     = 250 * time.Millisecond
	narrowed = 2.0 / 3
	// narrowest keeps a pass from being held up by one slow request alone.
	narrowest = 2
)

func newBreadth(now func() time.Time) *breadth { return &breadth{width: atOnce, now: now} }

// is the breadth now.
func (b *breadth) is() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return int(math.Round(b.width))
}

// took notes how long a creation took.
func (b *breadth) took(d time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if d <= soon {
		b.width = min(b.width+1/b.width, atOnce)
		return
	}
	if now := b.now(); now.Sub(b.shrunk) >= d { // what was under way at the last change says nothing of it
		b.width, b.shrunk = max(b.width*narrowed, narrowest), now
	}
}
