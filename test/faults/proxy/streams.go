package proxy

import (
	"strconv"
	"sync"
)

// Streams holds the faults of a proxy's lists and watches. A resource is its plural name, such as "pods". The settings survive
// the operator's death.
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

// change changes the faults and wakes every stream.
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

// Hold parks the events of all open and future watches of a resource, including bookmarks.
func (s *Streams) Hold(resource string) { s.change(func() { s.held[resource] = true }) }

// Release delivers what Hold parked.
func (s *Streams) Release(resource string) { s.change(func() { delete(s.held, resource) }) }

// Skip swallows the from-th to to-th event about the subject in a watch of the resource, counted from now on without initial
// events, and with them all later events of that watch. It ends when the watch has been quiet for 300 ms after the to-th event,
// at the latest 2 s after it. Without a to-th event it ends 2 s after the last one about the subject. Then the watch ends with
// 410 Expired, so that the client lists again: it missed states, which can happen in no other way.
func (s *Streams) Skip(resource, subject string, from, to int) {
	s.change(func() {
		s.skip = &skip{resource: resource, subject: subject, from: from, to: to, seen: map[*stream]int{}}
	})
}

// Skipped reports whether the last Skip began and is over.
func (s *Streams) Skipped() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.skip != nil && s.skip.over
}

// Cut cuts the open watches of a resource, in the middle of an event.
func (s *Streams) Cut(resource string) { s.each(resource, func(st *stream) { st.cut = true }) }

// Gone ends the open watches of a resource with 410 Expired; their parked events are lost.
func (s *Streams) Gone(resource string) { s.each(resource, func(st *stream) { st.gone = true }) }

// DropBookmarks swallows bookmarks, except the one that ends the initial events of a WatchList: a server need not send the
// others, but always sends this one.
func (s *Streams) DropBookmarks(on bool) { s.change(func() { s.noBookmarks = on }) }

// RefuseWatchList answers 400 to requests for initial events, like an API server without WatchList.
func (s *Streams) RefuseWatchList(on bool) { s.change(func() { s.noWatchList = on }) }

// AsOf shows the cluster as of a resourceVersion to every LIST and WATCH that begins from now on; watches deliver nothing newer
// until Present. GETs, writes and open watches are not affected. The API server must not have compacted that version; otherwise
// it answers 410, and so does the proxy.
func (s *Streams) AsOf(version string) { s.change(func() { s.past = version }) }

// Present ends the past: watches deliver what was parked.
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

// terms returns what applies to a list or watch that begins now.
func (s *Streams) terms() (past string, noWatchList bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.past, s.noWatchList
}

// number parses a resourceVersion; it returns 0 if that is malformed.
func number(version string) uint64 {
	n, err := strconv.ParseUint(version, 10, 64)
	if err != nil {
		return 0
	}
	return n
}
