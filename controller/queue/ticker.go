package queue

import (
	"sync"
	"time"

	"k8s.io/utils/clock"
)

// gaugesEvery is how often the gauges of unfinished work are computed while there is work: as often as client-go does it.
const gaugesEvery = 500 * time.Millisecond

// workClock is the clock of a queue. The queue makes one ticker, for its gauges of unfinished work. client-go's ticks for ever: of all
// that an idle operator did, most was to compute that nothing is being worked on.
type workClock struct {
	clock.RealClock
	work *workTicker
}

// NewTicker returns the ticker of the gauges.
func (c workClock) NewTicker(time.Duration) clock.Ticker { return c.work }

// workTicker ticks while workers have keys, and once after that.
type workTicker struct {
	ticks chan time.Time

	mu    sync.Mutex
	out   int         // keys that workers have
	timer *time.Timer // of the next tick; nil: there is none
}

func newWorkTicker() *workTicker {
	return &workTicker{ticks: make(chan time.Time, 1)}
}

// C returns the ticks.
func (w *workTicker) C() <-chan time.Time { return w.ticks }

// Stop is called when the queue shuts down.
func (w *workTicker) Stop() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.timer != nil {
		w.timer.Stop()
	}
}

// begin is called when a worker gets a key.
func (w *workTicker) begin() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.out++
	if w.timer == nil {
		w.timer = time.AfterFunc(gaugesEvery, w.tick)
	}
}

// end is called when the key is no longer worked on: a tick that follows finds that.
func (w *workTicker) end() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.out--
}

func (w *workTicker) tick() {
	w.mu.Lock()
	defer w.mu.Unlock()
	select {
	case w.ticks <- time.Now():
	default: // the last tick is still to be read
	}
	w.timer = nil
	if w.out > 0 {
		w.timer = time.AfterFunc(gaugesEvery, w.tick)
	}
}
