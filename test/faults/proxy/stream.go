package proxy

import (
	"encoding/json"
	"io"
	"time"
)

// Event types of a watch that are no change of an object.
const (
	bookmark = "BOOKMARK"
	failure  = "ERROR"
)

// initialEventsEnd marks the bookmark after the initial events of a WatchList.
const initialEventsEnd = "k8s.io/initial-events-end"

// frame is one event of a watch.
type frame struct {
	raw  []byte
	kind string
	reference
}

// about returns the name of the object, or of the one that an event object is about.
func (f *frame) about() string {
	if name := f.reference.about(); name != "" {
		return name
	}
	return f.Metadata.Name
}

func (f *frame) version() uint64 { return number(f.Metadata.ResourceVersion) }

// endsInitial reports whether the frame ends the initial events.
func (f *frame) endsInitial() bool {
	return f.kind == bookmark && f.Metadata.Annotations[initialEventsEnd] == "true"
}

func newFrame(raw []byte) (*frame, error) {
	var outer struct {
		Type   string          `json:"type"`
		Object json.RawMessage `json:"object"`
	}
	if err := json.Unmarshal(raw, &outer); err != nil {
		return nil, err
	}
	return &frame{raw: append(raw, '\n'), kind: outer.Type, reference: refer(outer.Object)}, nil
}

// stream is one open watch. Streams guards its changing fields.
type stream struct {
	resource string
	poked    chan struct{}

	queue   []*frame
	ended   bool  // the API server sends no more
	broken  error // not as a watch should end
	cut     bool
	gone    bool
	past    uint64 // nothing newer is delivered; 0: all
	initial bool   // the events now are the initial ones of a WatchList
}

func (st *stream) wake() {
	select {
	case st.poked <- struct{}{}:
	default:
	}
}

// read queues what the API server sends, however long it takes to deliver it to the operator: an API server ends the watches of
// clients that do not read.
func (s *Streams) read(st *stream, body io.Reader) {
	decoder := json.NewDecoder(body)
	for {
		var raw json.RawMessage
		err := decoder.Decode(&raw)
		var f *frame
		if err == nil {
			f, err = newFrame(raw)
		}
		s.mu.Lock()
		if err != nil {
			st.ended = true
			if err != io.EOF {
				st.broken = err
			}
		} else {
			st.queue = append(st.queue, f)
		}
		st.wake()
		s.mu.Unlock()
		if err != nil {
			return
		}
	}
}

// step is what a stream does next.
type step struct {
	tell  *frame
	gone  bool          // send 410 and end
	end   bool          // end
	cut   bool          // end like a broken connection
	again time.Duration // if positive: look again after this time, even if nothing wakes the stream
}

// next returns what a stream does next; the zero step means to wait until the stream is woken.
func (s *Streams) next(st *stream, now time.Time) step {
	s.mu.Lock()
	defer s.mu.Unlock()
	for {
		end, skipping := s.skip.ends(st)
		switch {
		case st.cut:
			return step{cut: true}
		case st.gone:
			return step{gone: true}
		case skipping && !now.Before(end):
			s.skip.over = true
			return step{gone: true}
		case len(st.queue) == 0 && st.ended:
			return step{end: st.broken == nil, cut: st.broken != nil}
		case len(st.queue) == 0, s.held[st.resource], st.past > 0 && st.queue[0].version() > st.past:
			if skipping {
				return step{again: end.Sub(now)}
			}
			return step{}
		}
		f := st.queue[0]
		st.queue = st.queue[1:]
		if s.skip.swallows(st, f, now) {
			continue
		}
		if f.endsInitial() {
			st.initial = false
		} else if f.kind == bookmark && s.noBookmarks {
			continue
		}
		return step{tell: f}
	}
}

func (s *Streams) add(st *stream) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.past == "" {
		st.past = 0 // the past ended while the stream was being opened
	}
	s.open[st] = true
}

// remove removes a stream. A skip that was active in it is over: the client continues from the last event that it received.
func (s *Streams) remove(st *stream) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.open, st)
	if s.skip != nil && s.skip.by == st {
		s.skip.over = true
	}
}
