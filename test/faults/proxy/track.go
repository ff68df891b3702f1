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
	faults  []*armed
	journal []*Entry
	writes  int
	fired   int
	last    time.Time
	// dying is closed when the Do of the last Before or After is over. Until then later requests wait, so that a crash at write k
	// is followed by no write. Those of the next run do not wait: the Do may wait for them.
	dying    chan struct{}
	stopping *run
	// struck is the process whose request a fault has last struck.
	struck string
	// plain are the writes in flight without a fault.
	plain map[*visit]bool
}

func newTrack(subject string) *Track {
	return &Track{subject: subject, plain: map[*visit]bool{}}
}

// armed is an injected fault, and how many requests it has struck.
type armed struct {
	Fault
	used int
}

// due reports whether the fault strikes this request, which is the number-th write (0: none) and the place-th request.
func (a *armed) due(number, place int) bool {
	k := number
	if a.Reads {
		k = place
	}
	if k == 0 {
		return false
	}
	if a.At == 0 {
		return a.Times == 0 || a.used < a.Times
	}
	return k >= a.At && k < a.At+max(a.Times, 1)
}

// Inject replaces the faults of the track. The first that is due strikes. At counts from the first request that the track saw. A
// fault with At 0 strikes every request, but at most Times if that is set.
func (t *Track) Inject(faults ...Fault) {
	all := make([]*armed, 0, len(faults))
	for _, f := range faults {
		all = append(all, &armed{Fault: f})
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.faults = all
}

// Lift ends all faults; numbering continues.
func (t *Track) Lift() { t.Inject() }

// Journal returns the requests in the order in which they arrived. Those in flight have no Ended.
func (t *Track) Journal() []Entry {
	t.mu.Lock()
	defer t.mu.Unlock()
	return copies(t.journal)
}

// Writes returns how many requests were numbered.
func (t *Track) Writes() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.writes
}

// Fired returns how often a fault struck, and when the last one was over. It counts a fault after its Do has returned.
func (t *Track) Fired() (times int, last time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.fired, t.last
}

// Struck returns the process whose request a fault has last struck; "" before the first. A Do may call it.
func (t *Track) Struck() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.struck
}

func copies(entries []*Entry) []Entry {
	all := make([]Entry, 0, len(entries))
	for _, e := range entries {
		all = append(all, *e)
	}
	return all
}

// visit is one request on its way through a track.
type visit struct {
	track *Track // nil if the request concerns no subject
	entry *Entry
	act   Act             // nil: none
	after <-chan struct{} // it waits for this before anything else; nil: nothing
	dying chan struct{}   // it closes this when its Do is over, or nil
	// earlier are the writes before it; a crash at write k happens when all of them have arrived.
	earlier []<-chan struct{}
	ended   chan struct{}
}

// enter numbers and records a request, and decides which fault strikes it.
func (t *Track) enter(q Request, l *run) *visit {
	t.mu.Lock()
	defer t.mu.Unlock()
	if q.writes() {
		t.writes++
		q.Number = t.writes
	}
	v := &visit{track: t, entry: &Entry{Request: q, Began: time.Now()}, ended: make(chan struct{})}
	if t.dying != nil && t.stopping == l {
		v.after = t.dying
	}
	t.journal = append(t.journal, v.entry)
	i := slices.IndexFunc(t.faults, func(a *armed) bool { return a.due(q.Number, len(t.journal)) })
	if i < 0 {
		if q.writes() {
			t.plain[v] = true
		}
		return v
	}
	t.faults[i].used++
	t.struck = l.process
	v.act = t.faults[i].Act
	v.entry.Fault = v.act.act()
	switch v.act.(type) {
	case Before, After:
		v.dying = make(chan struct{})
		t.dying, t.stopping = v.dying, l
		for other := range t.plain {
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
	delete(v.track.plain, v)
	now := time.Now()
	if v.entry.Ended.IsZero() {
		v.entry.Ended = now
	}
	if v.act != nil {
		v.track.fired++
		v.track.last = now
	}
	if v.dying != nil {
		close(v.dying)
		if v.track.dying == v.dying {
			v.track.dying = nil
		}
	}
}

// take returns the journal and empties it.
func (t *Track) take() []Entry {
	t.mu.Lock()
	defer t.mu.Unlock()
	all := copies(t.journal)
	t.journal = nil
	return all
}

// Forget ends the track of a subject, if there is one: requests about it are forwarded, and no longer kept.
func (p *Proxy) Forget(subject string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.tracks, subject)
	p.over[subject] = true
}
