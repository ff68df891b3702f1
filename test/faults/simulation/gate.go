package simulation

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"

	"stoic/test/faults/apimodel"
)

// gate is where the requests of all processes wait for the adversary.
type gate struct {
	mu      sync.Mutex
	parked  []*request
	streams []*stream
	// arrived holds a value if a request has arrived since it was last drained.
	arrived chan struct{}
	// served are the answers to discovery, by path. They never change; once all is fair they are sent immediately.
	served map[string][]byte
	fair   bool
}

// request is a request of a process. It waits at the gate, or its answer does.
type request struct {
	from     *process
	http     *http.Request
	method   string
	resource string // plural, with the subresource if there is one: "tfjobs/status"
	name     string
	query    url.Values
	body     []byte
	key      string // what it is sorted by; the same in every run with the same seed

	made    string // the UID of what it has created
	answers chan answer
	answer  *answer // it was carried out, and its sender has not received this answer yet
}

// answer to a request.
type answer struct {
	code   int
	body   []byte
	stream *stream
	err    error
}

var (
	errCut  = errors.New("no route to host") // client-go does not retry it by itself
	errDead = errors.New("dial: this process is dead")
)

// process is one run of the operator, as the API server sees it.
type process struct {
	id   int
	gate *gate
	dead bool // guarded by gate.mu
	stop context.CancelFunc
	done chan struct{}
	jobs string // the resource of the jobs
	// knows is, for each resource, a version: no reconcile that runs can be based on an older one.
	knows map[string]int64
	// made are the UIDs of the objects whose creation was confirmed to it, by resource and name.
	made map[string]string
	// watched are the resources that it has begun to list or watch, with the failures of these requests.
	watched map[string]*trouble
}

// RoundTrip waits at the gate until the adversary answers.
func (p *process) RoundTrip(r *http.Request) (*http.Response, error) {
	q, err := p.read(r)
	if err != nil {
		return nil, err
	}
	if q.resource == "discovery" && p.gate.isFair(p) {
		return q.response(p.gate.discover(q))
	}
	if !p.gate.park(q) {
		return nil, errDead
	}
	select {
	case a := <-q.answers:
		return q.response(a)
	case <-r.Context().Done():
		p.gate.remove(q)
		return nil, fmt.Errorf("wait for %s: %w", q.key, context.Cause(r.Context()))
	}
}

func (p *process) read(r *http.Request) (*request, error) {
	q := &request{from: p, http: r, method: r.Method, query: r.URL.Query(), answers: make(chan answer, 1)}
	if r.Body != nil {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return nil, fmt.Errorf("read the body of a request: %w", err)
		}
		q.body = body
		r.Body = io.NopCloser(bytes.NewReader(body))
	}
	if q.resource, _, q.name = apimodel.Target(r.URL.Path); q.resource == "" {
		q.resource = "discovery"
	}
	q.query.Del("timeoutSeconds") // client-go draws it
	q.query.Del("timeout")
	q.key = fmt.Sprintf("%d %s %s?%s %s", p.id, q.method, r.URL.Path, q.query.Encode(), q.body)
	return q, nil
}

func (q *request) writes() bool { return q.method != http.MethodGet }

func (q *request) watches() bool { return q.query.Get("watch") != "" }

// reflects reports whether the request is from a reflector and not from a reconcile.
func (q *request) reflects() bool {
	return q.method == http.MethodGet && q.name == "" && q.resource != "discovery" && !strings.Contains(q.query.Get("labelSelector"), "job-name")
}

// resumes reports whether the request starts a watch that continues from a version, and does not begin with the existing objects.
func (q *request) resumes() bool {
	version, named := q.since()
	return q.watches() && named && version > 0 && q.query.Get("sendInitialEvents") != "true"
}

func (q *request) response(a answer) (*http.Response, error) {
	if a.err != nil {
		return nil, a.err
	}
	response := &http.Response{StatusCode: a.code, Status: http.StatusText(a.code), Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: http.Header{"Content-Type": {"application/json"}}, Request: q.http, ContentLength: int64(len(a.body))}
	if a.stream != nil {
		response.Body, response.ContentLength = a.stream, -1
	} else {
		response.Body = io.NopCloser(bytes.NewReader(a.body))
	}
	return response, nil
}

func (g *gate) isFair(p *process) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.fair && !p.dead
}

func (g *gate) discover(q *request) answer {
	body, ok := g.served[q.http.URL.Path]
	if !ok {
		return refusal(http.StatusNotFound, "NotFound", "the server could not find the requested resource")
	}
	return answer{code: http.StatusOK, body: body}
}

// park lets a request wait, unless its process is dead.
func (g *gate) park(q *request) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if q.from.dead {
		return false
	}
	at, _ := slices.BinarySearchFunc(g.parked, q, func(a, b *request) int { return cmp.Compare(a.key, b.key) })
	g.parked = slices.Insert(g.parked, at, q)
	if q.reflects() && q.from.watched[q.resource] == nil {
		q.from.watched[q.resource] = &trouble{}
	}
	select {
	case g.arrived <- struct{}{}:
	default:
	}
	return true
}

// remove removes a request from the gate.
func (g *gate) remove(q *request) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.parked = slices.DeleteFunc(g.parked, func(other *request) bool { return other == q })
}

// reply sends the answer to a request.
func (g *gate) reply(q *request, a answer) {
	g.remove(q)
	if a.code == http.StatusCreated {
		q.from.made[q.resource+"/"+metaOf(q.body).Name] = q.made
	}
	if a.code == http.StatusOK && q.reflects() && !q.watches() {
		g.release(q)
	}
	q.answers <- a
}

// release notes that a list has returned the current version of the store, so that watches pass on what they held.
func (g *gate) release(q *request) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, s := range g.streams {
		if s.from == q.from && s.resource == q.resource {
			s.held = false
		}
	}
}

// kill cuts a process off: a request that it has not sent yet is never carried out.
func (g *gate) kill(p *process) {
	g.mu.Lock()
	p.dead = true
	var cut []*request
	for _, q := range g.parked {
		if q.from == p {
			cut = append(cut, q)
		}
	}
	var ended []*stream
	for _, s := range g.streams {
		if s.from == p {
			ended = append(ended, s)
		}
	}
	g.mu.Unlock()
	for _, q := range cut {
		g.reply(q, answer{err: errDead})
	}
	for _, s := range ended {
		s.end()
	}
	p.stop()
}

// stream is one open watch, and the body of its response.
type stream struct {
	from     *process
	gate     *gate
	resource string
	watch    *apimodel.Watch
	position int64 // all events up to this version were sent, or do not concern the watcher
	// held: the watcher holds the events until a list has returned the current version of the store. It retries a list that fails.
	held bool
	ctx  context.Context

	chunks chan []byte
	rest   []byte
	ended  chan struct{}
	once   sync.Once
}

// room is the capacity for events that were sent to one watcher and not read: at most those of one state.
const room = 64

func (g *gate) open(q *request, watch *apimodel.Watch, position int64) *stream {
	s := &stream{from: q.from, gate: g, resource: q.resource, watch: watch, position: position, held: q.resumes(), ctx: q.http.Context(),
		chunks: make(chan []byte, room), ended: make(chan struct{})}
	g.mu.Lock()
	defer g.mu.Unlock()
	at, _ := slices.BinarySearchFunc(g.streams, s, func(a, b *stream) int {
		return cmp.Or(cmp.Compare(a.from.id, b.from.id), cmp.Compare(a.resource, b.resource))
	})
	g.streams = slices.Insert(g.streams, at, s)
	return s
}

// send delivers one event to the watcher.
func (s *stream) send(kind string, object []byte) {
	line := make([]byte, 0, len(object)+40)
	line = append(line, `{"type":"`...)
	line = append(line, kind...)
	line = append(line, `","object":`...)
	line = append(line, object...)
	line = append(line, '}', '\n')
	s.chunks <- line
}

// end cuts the watch; the watcher still receives what was sent.
func (s *stream) end() {
	s.gate.mu.Lock()
	s.gate.streams = slices.DeleteFunc(s.gate.streams, func(other *stream) bool { return other == s })
	s.gate.mu.Unlock()
	s.once.Do(func() { close(s.ended) })
}

func (s *stream) Read(p []byte) (int, error) {
	if len(s.rest) == 0 {
		select {
		case s.rest = <-s.chunks:
		default:
			select {
			case s.rest = <-s.chunks:
			case <-s.ended:
				select {
				case s.rest = <-s.chunks:
				default:
					return 0, io.EOF
				}
			case <-s.ctx.Done():
				return 0, s.ctx.Err()
			}
		}
	}
	n := copy(p, s.rest)
	s.rest = s.rest[n:]
	return n, nil
}

// Close ends the watch; the watcher calls it when it needs no more events.
func (s *stream) Close() error {
	s.end()
	return nil
}

// since returns the version that a request names.
func (q *request) since() (version int64, named bool) {
	version, err := strconv.ParseInt(q.query.Get("resourceVersion"), 10, 64)
	return version, err == nil
}

// failed records that a reflector may back off.
func (p *process) failed(resource string) {
	p.gate.mu.Lock()
	defer p.gate.mu.Unlock()
	if t := p.watched[resource]; t != nil {
		t.failures++
	}
}
