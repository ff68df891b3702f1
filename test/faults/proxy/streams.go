package proxy

import (
	"strconv"
	"sync"
)

// Streams is what happens to the lists and watches of a proxy. A resource is its plural name, such as "pods". What is
// set stays set when the operator dies.
type Streams struct {
	mu          sync.Mutex
	open        map[*stream]bool
	held        map[string]bool
	noBookmarks bool
	noWatchList bool
	past        string // the version that is shown as the present, or ""
	skip        *skip
}

func newStreams() *Streams {
	return &Streams{open: map[*stream]bool{}, held: map[string]bool{}}
}

// change changes what happens and tells every stream to look again.
func (s *Streams) change(f func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f()
	for st := range s.open {
		st.wake()
	}
}

// each changes the open streams of a resource.
func (s *Streams) each(resource string, f func(*stream)) {
	s.change(func() {
		for st := range s.open {
			if st.resource == resource {
				f(st)
			}
		}
	})
}

// Hold parks what the watches of a resource tell, of those that are open and those that come, bookmarks too.
func (s *Streams) Hold(resource string) { s.change(func() { s.held[resource] = true }) }

// Release delivers what Hold parked.
func (s *Streams) Release(resource string) { s.change(func() { delete(s.held, resource) }) }

// Skip swallows the from-th to to-th event about the subject that a watch of the resource tells from now on, and with
// them all later ones of that watch until it has been quiet for 300 ms after the to-th, or for 2 s if there is no
// to-th, or until 2 s have passed since the to-th. Then the watch ends with 410 Expired, so that the client lists
// again: it missed states, and in no other way may it miss one. What a watch tells to begin with does not count.
func (s *Streams) Skip(resource, subject string, from, to int) {
	s.change(func() {
		s.skip = &skip{resource: resource, subject: subject, from: from, to: to, seen: map[*stream]int{}}
	})
}

// Skipped says whether the last Skip was begun and is over.
func (s *Streams) Skipped() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.skip != nil && s.skip.over
}

// Cut cuts the open watches of a resource, in the middle of an event.
func (s *Streams) Cut(resource string) { s.each(resource, func(st *stream) { st.cut = true }) }

// Gone ends the open watches of a resource with 410 Expired; what was parked of them is lost.
func (s *Streams) Gone(resource string) { s.each(resource, func(st *stream) { st.gone = true }) }

// DropBookmarks swallows bookmarks, but for the one that ends the initial events of a WatchList: those may never come,
// this one always does.
func (s *Streams) DropBookmarks(on bool) { s.change(func() { s.noBookmarks = on }) }

// RefuseWatchList answers 400 to whoever asks for initial events, as an API server without WatchList.
func (s *Streams) RefuseWatchList(on bool) { s.change(func() { s.noWatchList = on }) }

// AsOf shows the cluster as of a resourceVersion to every LIST and WATCH that begins from now on; watches tell nothing
// newer until Present. GETs, writes and watches that are open are not concerned. The API server must not have
// compacted that version; else it answers 410, and so does the proxy.
func (s *Streams) AsOf(version string) { s.change(func() { s.past = version }) }

// Present ends the past: watches tell what was parked.
func (s *Streams) Present() {
	s.change(func() {
		s.past = ""
		for st := range s.open {
			st.past = 0
		}
	})
}

// Open counts the open watches of a resource.
func (s *Streams) Open(resource string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := 0
	for st := range s.open {
		if st.resource == resource {
			n++
		}
	}
	return n
}

// terms are what a list or watch that begins now is subject to.
func (s *Streams) terms() (past string, noWatchList bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.past, s.noWatchList
}

// number reads a resourceVersion; what is none is 0.
func number(version string) uint64 {
	n, err := strconv.ParseUint(version, 10, 64)
	if err != nil {
		return 0
	}
	return n
}
