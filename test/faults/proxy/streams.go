package proxy

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
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
	past        string // the version that is shown as the present, or ""
}

// stream is one open watch. Streams guards its fields.
type stream struct {
	resource string
	poked    chan struct{}

	queue    []*event
	ended    bool // the API server sends no more
	isBroken bool // it ends like a broken connection
	expired  bool
	past     uint64 // nothing newer is delivered; 0: all
}

// event is one event of a watch.
type event struct {
	raw       []byte
	kind      string
	version   uint64
	endsStart bool // it ends the initial events
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

func (st *stream) wake() {
	select {
	case st.poked <- struct{}{}:
	default:
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

// Cut cuts the open watches of a resource, in the middle of an event.
func (s *Streams) Cut(resource string) { s.each(resource, func(st *stream) { st.isBroken = true }) }

// Expire ends the open watches of a resource with 410 Expired; what Hold parked is lost, so that the client lists again without it.
func (s *Streams) Expire(resource string) {
	s.each(resource, func(st *stream) { st.expired = true })
	s.Release(resource)
}

// DropBookmarks swallows bookmarks, except the one that ends the initial events of a WatchList: a server need not send the
// others, but always sends this one.
func (s *Streams) DropBookmarks(on bool) { s.change(func() { s.noBookmarks = on }) }

// AsOf shows the cluster as of a resourceVersion to every LIST and WATCH that begins from now on; watches deliver nothing newer
// until Present. Streaming lists are refused, as by an API server without them: clients list instead. GETs, writes and open watches
// are not affected. The API server must not have compacted that version; otherwise it answers 410, and so does the proxy.
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
func (s *Streams) Open(resource string) (n int) {
	s.each(resource, func(*stream) { n++ })
	return n
}

func (s *Streams) pastVersion() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.past
}

// list answers a LIST, perhaps as of the past. The later chunks of a list have the version of the first.
func (x *exchange) list() {
	query := x.r.URL.Query()
	if past := x.p.streams.pastVersion(); past != "" && query.Get("continue") == "" {
		query.Del("limit")
		query.Set("resourceVersion", past)
		query.Set("resourceVersionMatch", "Exact")
		x.visit.note(func(e *Entry) { e.Fault = "as of " + past })
	}
	if x.run.isOver() {
		x.stop()
	}
	a, err := x.ask(x.r.Context(), query)
	if err != nil {
		cut()
	}
	x.visit.note(func(e *Entry) { e.Code = a.code })
	x.answer(a)
}

// watch serves a WATCH until one of the three parties ends it.
func (x *exchange) watch() {
	past := x.p.streams.pastVersion()
	if past != "" && isTrue(x.r.URL.Query().Get("sendInitialEvents")) {
		x.visit.note(func(e *Entry) { e.Fault = "no streaming list" })
		x.refuse(http.StatusBadRequest)
		return
	}
	if x.run.isOver() {
		x.stop()
	}
	ctx, cancel := context.WithCancel(x.r.Context())
	defer cancel()
	response, err := x.send(ctx, x.r.URL.Query())
	if err != nil {
		cut()
	}
	defer response.Body.Close()
	x.visit.note(func(e *Entry) { e.Code = response.StatusCode })
	copyHeader(x.w.Header(), response.Header)
	x.w.WriteHeader(response.StatusCode)
	if response.StatusCode != http.StatusOK {
		_, _ = io.Copy(x.w, response.Body) // the operator may be gone
		return
	}
	x.write(nil)
	st := &stream{resource: x.visit.entry.Resource, poked: make(chan struct{}, 1), past: parseVersion(past)}
	var reading sync.WaitGroup
	reading.Go(func() { x.p.streams.read(st, response.Body) })
	defer reading.Wait()
	defer cancel()
	x.deliver(ctx, st)
}

// deliver delivers to the operator what the API server sends.
func (x *exchange) deliver(ctx context.Context, st *stream) {
	s := x.p.streams
	s.mu.Lock()
	if s.past == "" {
		st.past = 0 // the past ended while the stream was being opened
	}
	s.open[st] = true
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.open, st)
	}()
	for {
		text, isOver := s.next(st)
		if text != nil {
			x.write(text)
		}
		switch {
		case isOver:
			return
		case text != nil:
			continue
		}
		select {
		case <-st.poked:
		case <-ctx.Done():
			return
		}
	}
}

// next returns what a stream sends next, and whether the stream is then over; neither: it waits until it is woken.
//
// A broken connection ends in the middle of an event. Over HTTP/2 the reset of one stream would do that too, but client-go treats it
// as a failure of the API server and lists again. After a broken connection it resumes the watch, and so it does here.
func (s *Streams) next(st *stream) (text []byte, isOver bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for {
		switch {
		case st.isBroken:
			return []byte(`{"type":`), true
		case st.expired:
			const expired = `{"type":"ERROR","object":{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Expired","code":410,"message":"injected: too old resource version"}}`
			return []byte(expired + "\n"), true
		case len(st.queue) == 0 && st.ended:
			return nil, true
		case len(st.queue) == 0, s.held[st.resource], st.past > 0 && st.queue[0].version > st.past:
			return nil, false
		}
		e := st.queue[0]
		st.queue = st.queue[1:]
		if e.kind != "BOOKMARK" || e.endsStart || !s.noBookmarks {
			return e.raw, false
		}
	}
}

// read queues what the API server sends, however long it takes to deliver it to the operator: an API server ends the watches of
// clients that do not read.
func (s *Streams) read(st *stream, body io.Reader) {
	decoder := json.NewDecoder(body)
	for {
		e, err := readEvent(decoder)
		s.mu.Lock()
		if err != nil {
			st.ended = true
			st.isBroken = !errors.Is(err, io.EOF)
		} else {
			st.queue = append(st.queue, e)
		}
		st.wake()
		s.mu.Unlock()
		if err != nil {
			return
		}
	}
}

func readEvent(decoder *json.Decoder) (*event, error) {
	var raw json.RawMessage
	if err := decoder.Decode(&raw); err != nil {
		return nil, err
	}
	var outer struct {
		Type   string          `json:"type"`
		Object json.RawMessage `json:"object"`
	}
	if err := json.Unmarshal(raw, &outer); err != nil {
		return nil, fmt.Errorf("read an event: %w", err)
	}
	metadata := readReference(outer.Object).Metadata
	return &event{raw: append(raw, '\n'), kind: outer.Type, version: parseVersion(metadata.ResourceVersion), endsStart: metadata.Annotations["k8s.io/initial-events-end"] == "true"}, nil
}

// write sends the operator a part of a watch, and cuts if the operator is gone.
func (x *exchange) write(data []byte) {
	if _, err := x.w.Write(data); err != nil {
		cut()
	}
	if err := http.NewResponseController(x.w).Flush(); err != nil {
		cut()
	}
}

// parseVersion parses a resourceVersion; it returns 0 if that is malformed.
func parseVersion(version string) uint64 {
	n, err := strconv.ParseUint(version, 10, 64)
	if err != nil {
		return 0
	}
	return n
}
