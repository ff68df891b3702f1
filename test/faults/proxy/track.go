package proxy

import (
	"slices"
	"sync"
	"time"
)

// Track numbers the requests that concern one subject, keeps them, and injects faults into them.
type Track struct {
	subject string

	mu      sync.Mutex
	fault   *Fault
	journal []*Entry
	writes  int
	fired   int
	last    time.Time
	// dying is closed when the callback of the last Before or After is over. Until then later requests wait, so that a crash at
	// write k is followed by no write. Those of the next run do not wait: the callback may wait for them.
	dying    chan struct{}
	stopping *run
	// inFlight are the writes in flight without a fault.
	inFlight map[*visit]bool
}

func newTrack(subject string) *Track {
	return &Track{subject: subject, inFlight: map[*visit]bool{}}
}

// Inject replaces the fault of the track. At counts from the first request that the track saw.
func (t *Track) Inject(f Fault) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.fault = &f
}

// Lift ends the fault; numbering continues.
func (t *Track) Lift() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.fault = nil
}

// Journal returns the requests in the order in which they arrived.
func (t *Track) Journal() (all []Entry) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, e := range t.journal {
		all = append(all, *e)
	}
	return all
}

// take returns the journal and empties it.
func (t *Track) take() []Entry {
	all := t.Journal()
	t.mu.Lock()
	defer t.mu.Unlock()
	t.journal = slices.Clone(t.journal[len(all):])
	return all
}

// Writes returns how many requests were numbered.
func (t *Track) Writes() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.writes
}

// Fired returns how often a fault struck, and when the last one was over. It counts a fault after its callback has returned.
func (t *Track) Fired() (times int, last time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.fired, t.last
}

// visit is one request on its way through a track.
type visit struct {
	track *Track // nil if the request concerns no subject
	entry *Entry
	act   *Act            // nil: none
	after <-chan struct{} // it waits for this before anything else; nil: nothing
	dying chan struct{}   // it closes this when its callback is over, or nil
	// earlier are the writes before it; a crash at write k happens when all of them have arrived.
	earlier []<-chan struct{}
	ended   chan struct{}
}

// enter numbers and records a request, and decides whether the fault strikes it.
func (t *Track) enter(q Request, r *run) *visit {
	t.mu.Lock()
	defer t.mu.Unlock()
	if q.writes() {
		t.writes++
		q.Number = t.writes
	}
	v := &visit{track: t, entry: &Entry{Request: q, Began: time.Now()}, ended: make(chan struct{})}
	if t.dying != nil && t.stopping == r {
		v.after = t.dying
	}
	t.journal = append(t.journal, v.entry)
	if t.fault == nil || !t.fault.isDue(q.Number, len(t.journal)) {
		if q.writes() {
			t.inFlight[v] = true
		}
		return v
	}
	v.act = &t.fault.Act
	v.entry.Fault = v.act.name
	if v.act.crashes {
		v.dying = make(chan struct{})
		t.dying = v.dying
		t.stopping = r
		for other := range t.inFlight {
			v.earlier = append(v.earlier, other.ended)
		}
	}
	return v
}

// note changes the entry of the visit.
func (v *visit) note(change func(*Entry)) {
	if v.track == nil {
		return
	}
	v.track.mu.Lock()
	defer v.track.mu.Unlock()
	change(v.entry)
}

// leave ends the visit.
func (v *visit) leave() {
	if v.track == nil {
		return
	}
	v.track.mu.Lock()
	defer v.track.mu.Unlock()
	close(v.ended)
	delete(v.track.inFlight, v)
	if v.act != nil {
		v.track.fired++
		v.track.last = time.Now()
	}
	if v.dying != nil {
		close(v.dying)
		if v.track.dying == v.dying {
			v.track.dying = nil
		}
	}
}
