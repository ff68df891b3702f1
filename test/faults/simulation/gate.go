package simulation

import (
	"cmp"
	"context"
	"errors"
	"fmt"
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
	model *apimodel.Model

	mu      sync.Mutex
	parked  []*request
	watches []*watch
	fair    bool // discovery, whose answers never change, is answered immediately
	// arrived holds a value if a request has arrived since it was last drained.
	arrived chan struct{}
}

// request is a request of a process. It waits at the gate, or its answer does.
type request struct {
	*apimodel.Request
	from    *process
	query   url.Values
	key     string // what it is sorted by; the same in every run with the same seed
	answers chan result
	answer  *apimodel.Answer // it was carried out, and its sender has not received this answer yet
}

// result is what the sender of a request receives.
type result struct {
	apimodel.Answer
	err error
}

// watch is one open watch. All events up to its position were sent, or do not concern the watcher.
type watch struct {
	*apimodel.Watch
	from   *process
	events *apimodel.Events
}

var (
	errCut  = errors.New("no route to host") // client-go does not retry it by itself
	errDead = errors.New("dial: this process is dead")
)

// send waits at the gate until the adversary answers.
func (p *process) send(received *apimodel.Request) (apimodel.Answer, error) {
	q := &request{Request: received, from: p, query: received.URL.Query(), answers: make(chan result, 1)}
	q.query.Del("timeoutSeconds") // client-go draws it
	q.query.Del("timeout")
	q.key = fmt.Sprintf("%d %s %s?%s %s", p.id, q.Method, q.URL.Path, q.query.Encode(), q.Body)
	if q.discovers() && p.gate.isFair(p) {
		return p.gate.carryOut(q), nil
	}
	if !p.gate.park(q) {
		return apimodel.Answer{}, errDead
	}
	select {
	case r := <-q.answers:
		return r.Answer, r.err
	case <-q.Gone:
		p.gate.remove(q)
		return apimodel.Answer{}, fmt.Errorf("wait for %s: %w", q.key, context.Cause(q.Context()))
	}
}

func (g *gate) carryOut(q *request) (a apimodel.Answer) {
	a.Code, a.Body = g.model.Do(q.Request.Request)
	return a
}

func (q *request) writes() bool { return q.Method != http.MethodGet }

func (q *request) discovers() bool { return q.Resource == "" }

// reflects reports whether the request is from a reflector and not from a reconcile.
func (q *request) reflects() bool {
	return q.Method == http.MethodGet && q.Name == "" && !q.discovers() && !strings.Contains(q.query.Get("labelSelector"), "job-name")
}

// since returns the version that a request names.
func (q *request) since() (version int64, named bool) {
	version, err := strconv.ParseInt(q.query.Get("resourceVersion"), 10, 64)
	return version, err == nil
}

func (g *gate) isFair(p *process) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.fair && !p.dead
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
	if _, known := q.from.failures[q.Resource]; q.reflects() && !known {
		q.from.failures[q.Resource] = 0
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

// requests returns the requests that wait, in an order that is the same in each run.
func (g *gate) requests() []*request {
	g.mu.Lock()
	defer g.mu.Unlock()
	return slices.Clone(g.parked)
}

// open returns the watches that have not ended.
func (g *gate) open() []*watch {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.watches = slices.DeleteFunc(g.watches, func(w *watch) bool { return w.events.Ended() })
	return slices.Clone(g.watches)
}

// reply sends the answer to a request.
func (g *gate) reply(q *request, a apimodel.Answer, err error) {
	g.remove(q)
	q.answers <- result{a, err}
}

// kill cuts a process off: a request that it has not sent yet is never carried out.
func (g *gate) kill(p *process) {
	g.mu.Lock()
	p.dead = true
	g.mu.Unlock()
	for _, q := range g.requests() {
		if q.from == p {
			g.reply(q, apimodel.Answer{}, errDead)
		}
	}
	for _, w := range g.open() {
		if w.from == p {
			w.events.End()
		}
	}
	p.stop()
}

// list answers a LIST as of a version: an API server may answer a reflector from its watch cache, which is behind.
func (g *gate) list(q *request, version int64) (a apimodel.Answer) {
	exact := q.Clone(context.Background())
	query := url.Values{"resourceVersion": {strconv.FormatInt(version, 10)}, "resourceVersionMatch": {"Exact"}}
	if selector := q.query.Get("labelSelector"); selector != "" {
		query.Set("labelSelector", selector)
	}
	exact.URL.RawQuery = query.Encode()
	a.Code, a.Body = g.model.Do(exact)
	return a
}

// watch answers a WATCH that begins at a version, with the initial objects if the watcher requests them.
func (g *gate) watch(q *request, version int64) apimodel.Answer {
	wanted, code, body := g.model.Watching(q.Request.Request)
	if wanted == nil {
		return apimodel.Answer{Code: code, Body: body}
	}
	wanted.Position = version
	w := &watch{Watch: wanted, from: q.from, events: apimodel.NewEvents()}
	if wanted.Initial {
		w.events.Send(g.model.Begin(wanted, version))
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	at, _ := slices.BinarySearchFunc(g.watches, w, func(a, b *watch) int {
		return cmp.Or(cmp.Compare(a.from.id, b.from.id), cmp.Compare(a.Resource.Plural, b.Resource.Plural))
	})
	g.watches = slices.Insert(g.watches, at, w)
	return apimodel.Answer{Code: http.StatusOK, Events: w.events}
}

// next returns the next event that a watcher may receive.
func (g *gate) next(w *watch) (apimodel.Change, bool) {
	seen := g.model.Seen(w.Watch, w.Position)
	if len(seen) == 0 {
		w.Position = g.model.Version()
		return apimodel.Change{}, false
	}
	return seen[0], true
}
