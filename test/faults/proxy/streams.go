package proxy

import (
	"bufio"
	"context"
	"io"
	"net/http"
	"sync"
)

// Streams holds the faults of a proxy's lists and watches. A resource is its plural name, such as "pods". The settings survive
// the operator's death.
type Streams struct {
	mu      sync.Mutex
	open    map[*stream]bool
	held    map[string]bool
	past    string        // the version that is shown as the present, or ""
	changed chan struct{} // closed at the next change
}

func newStreams() *Streams {
	return &Streams{open: map[*stream]bool{}, held: map[string]bool{}, changed: make(chan struct{})}
}

// change changes the faults and wakes every stream.
func (s *Streams) change(f func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f()
	close(s.changed)
	s.changed = make(chan struct{})
}

// end ends the open watches of a resource with some last words.
func (s *Streams) end(resource, words string) {
	s.change(func() {
		for st := range s.open {
			if st.resource == resource {
				st.lastWords = words
			}
		}
	})
}

// Hold parks the events of all open and future watches of a resource, including bookmarks.
func (s *Streams) Hold(resource string) { s.change(func() { s.held[resource] = true }) }

// Release delivers what Hold parked.
func (s *Streams) Release(resource string) { s.change(func() { delete(s.held, resource) }) }

// Cut cuts the open watches of a resource, in the middle of an event. Over HTTP/2 the reset of one stream would do that too, but
// client-go takes it for a failure of the API server and lists again. After a broken connection it resumes the watch, and so it does
// here.
func (s *Streams) Cut(resource string) { s.end(resource, `{"type":`) }

// Expire ends the open watches of a resource with 410 Expired; what Hold parked is lost, so that the client lists again without it.
func (s *Streams) Expire(resource string) {
	const expired = `{"type":"ERROR","object":{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Expired","code":410,"message":"injected: too old resource version"}}`
	s.end(resource, expired+"\n")
	s.Release(resource)
}

// AsOf shows the cluster as of a resourceVersion to every LIST from now on; no watch delivers anything until Present. Streaming lists
// are refused, as by an API server without them: clients list instead. GETs and writes are not affected. If the API server has
// compacted that version, it answers 410.
func (s *Streams) AsOf(version string) { s.change(func() { s.past = version }) }

// Present ends the past.
func (s *Streams) Present() { s.AsOf("") }

// Open counts the open watches of a resource.
func (s *Streams) Open(resource string) (n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for st := range s.open {
		if st.resource == resource {
			n++
		}
	}
	return n
}

// list lets a LIST ask for the past, if it is shown. The later chunks of a list have the version of the first.
func (s *Streams) list(r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	query := r.URL.Query()
	if s.past == "" || query.Get("continue") != "" {
		return
	}
	query.Del("limit")
	query.Set("resourceVersion", s.past)
	query.Set("resourceVersionMatch", "Exact")
	r.URL.RawQuery = query.Encode()
}

// watch begins a watch.
func (p *Proxy) watch(r *http.Request, resource string) (*http.Response, error) {
	s := p.streams
	s.mu.Lock()
	isPast := s.past != ""
	s.mu.Unlock()
	if isPast && isTrue(r.URL.Query().Get("sendInitialEvents")) {
		return refusal(r, Request{Resource: resource}, http.StatusBadRequest)
	}
	response, err := p.upstream.RoundTrip(r)
	if err != nil || response.StatusCode != http.StatusOK {
		return response, err
	}
	st := &stream{streams: s, resource: resource, ctx: r.Context(), body: response.Body, lines: make(chan []byte)}
	s.mu.Lock()
	s.open[st] = true
	s.mu.Unlock()
	go st.readLines()
	response.Body = st
	return response, nil
}

// stream is the body of one open watch: a line for each event. ReverseProxy closes it.
type stream struct {
	streams  *Streams
	resource string
	ctx      context.Context // of the watch
	body     io.ReadCloser
	lines    chan []byte // closed after the API server's last
	rest     []byte      // of the line that is being read
	isOver   bool
	// lastWords are what it ends with, ahead of all lines; "": it does not end. The lock of Streams guards it.
	lastWords string
}

// readLines passes on what the API server sends.
func (st *stream) readLines() {
	defer close(st.lines)
	reader := bufio.NewReader(st.body)
	for {
		line, err := reader.ReadBytes('\n')
		if err != nil {
			return
		}
		select {
		case st.lines <- line:
		case <-st.ctx.Done():
			return
		}
	}
}

func (st *stream) Read(p []byte) (int, error) {
	if len(st.rest) == 0 {
		if err := st.next(); err != nil {
			return 0, err
		}
	}
	n := copy(p, st.rest)
	st.rest = st.rest[n:]
	return n, nil
}

// next waits for the next line that the operator may see.
func (st *stream) next() error {
	for {
		st.streams.mu.Lock()
		lines := st.lines
		if st.streams.held[st.resource] || st.streams.past != "" {
			lines = nil
		}
		words := st.lastWords
		changed := st.streams.changed
		st.streams.mu.Unlock()
		switch {
		case st.isOver:
			return io.EOF
		case words != "":
			st.isOver = true
			st.rest = []byte(words)
			return nil
		}
		select {
		case line, isThere := <-lines:
			st.isOver = !isThere
			st.rest = line
			if isThere {
				return nil
			}
		case <-changed:
		case <-st.ctx.Done():
			return st.ctx.Err()
		}
	}
}

func (st *stream) Close() error {
	st.streams.mu.Lock()
	delete(st.streams.open, st)
	st.streams.mu.Unlock()
	return st.body.Close()
}
