package proxy

import (
	"slices"
	"sync"
	"time"
)

// Track numbers the requests that concern one subject, keeps them, and injects faults among them.
type Track struct {
	subject string

	mu      sync.Mutex
	faults  []*armed
	journal []*Entry
	writes  int
	fired   int
	last    time.Time
	// dying is closed when the Do of the last Before or After is over; until then later requests wait, so that a
	// crash at write k finds no write behind it. Those of the next run do not wait: the Do may await them.
	dying    chan struct{}
	stopping *run
	// struck is the process whose request a fault has happened to last.
	struck string
	// plain are the writes under way to which nothing happens.
	plain map[*visit]bool
}

func newTrack(subject string) *Track {
	return &Track{subject: subject, plain: map[*visit]bool{}}
}

// armed is a fault that was injected, and to how many requests it has happened.
type armed struct {
	Fault
	used int
}

// due says whether the fault happens to this request, which is the number-th write (0: none) and the place-th request.
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

// Inject makes these the faults of the track, and the only ones. The first that is due happens. At counts from the
// first request that the track saw; with At 0 a fault happens to every one, but to Times at most if Times is given.
func (t *Track) Inject(faults ...Fault) {
	all := make([]*armed, 0, len(faults))
	for _, f := range faults {
		all = append(all, &armed{Fault: f})
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.faults = all
}

// Lift ends all faults; numbering goes on.
func (t *Track) Lift() { t.Inject() }

// Journal returns the requests in the order in which they came. Those that are under way have not Ended.
func (t *Track) Journal() []Entry {
	t.mu.Lock()
	defer t.mu.Unlock()
	return copies(t.journal)
}

// Writes is how many requests were numbered.
func (t *Track) Writes() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.writes
}

// Fired says how often a fault happened, and when the last was over. A Do has returned when it is counted.
func (t *Track) Fired() (times int, last time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.fired, t.last
}

// Struck is the name of the process whose request a fault has happened to last, "" before there was one. A Do may ask.
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
	after <-chan struct{} // what it waits for before anything else; nil: nothing
	dying chan struct{}   // what it closes when its Do is over, or nil
	// earlier are writes that came before it; a crash at write k happens when all before it have arrived.
	earlier []<-chan struct{}
	ended   chan struct{}
}

// enter numbers a request, notes it, and says what happens to it.
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

// take empties the journal and returns what it was.
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
