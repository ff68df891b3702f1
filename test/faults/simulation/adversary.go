package simulation

import (
	"fmt"
	"hash/fnv"
	"io"
	"math/rand/v2"
	"net/http"
	"syscall"
	"testing/synctest"
	"time"

	"stoic/test/faults/apimodel"
)

// profile is the kind of adversary of a schedule. Each has its own preferences: some faults happen often in some schedules and
// never in others, which reaches more than a little of everything everywhere.
type profile struct {
	steps int
	// faultRate and edits are in how many of a hundred steps the adversary, or the user, acts.
	faultRate, edits int
	// Weights of faults relative to each other, and of normal steps relative to each other.
	lose, drop, refuse, late, stale, cut, bookmark, crash int
	lag, time, kubelet                                    int
	warm                                                  bool // the first process has read everything before the adversary begins
	twins                                                 bool // two processes may run at once
	noWatchList                                           bool
	ends                                                  bool // replicas succeed once all is fair
}

func drawProfile(r *rand.Rand) profile {
	often := func() int { return pick(r, 0, 1, 1, 4) }
	return profile{steps: 30 + r.IntN(90), faultRate: pick(r, 0, 3, 8, 15, 30), edits: pick(r, 0, 2, 6, 15),
		lose: often(), drop: often(), refuse: often(), late: often(), stale: 2 * often(), cut: often(), bookmark: often(), crash: often(),
		lag: pick(r, 1, 5, 20, 20), time: pick(r, 2, 6, 15), kubelet: pick(r, 4, 20, 40),
		warm: r.IntN(3) > 0, twins: r.IntN(6) == 0, noWatchList: r.IntN(3) == 0, ends: r.IntN(2) == 0}
}

// step is one thing that may happen next.
type step struct {
	weight int
	do     func()
}

// choices collects steps. Their order depends only on the seed.
type choices struct{ all []step }

func (c *choices) add(weight int, do func()) {
	if weight > 0 {
		c.all = append(c.all, step{weight, do})
	}
}

func (c *choices) choose(r *rand.Rand) bool {
	total := 0
	for _, s := range c.all {
		total += s.weight
	}
	if total == 0 {
		return false
	}
	at := r.IntN(total)
	for _, s := range c.all {
		if at -= s.weight; at < 0 {
			s.do()
			return true
		}
	}
	return false
}

// adversary does one thing: a fault, an edit, or a normal step.
func (s *schedule) adversary() {
	var goesOn, faults, edits choices
	faultRate := s.profile.faultRate
	for i, q := range s.requests() {
		if q.discovers() && i > 0 && s.requests()[i-1].key == q.key {
			continue // two resources of one version send equal requests in random order, so they are answered together
		}
		s.requestSteps(&goesOn, &faults, q)
		if q.writes() {
			faultRate = 2 * s.profile.faultRate // faults matter most then
		}
	}
	for _, w := range s.open() {
		s.watchSteps(&goesOn, &faults, w)
	}
	goesOn.add(s.profile.time, func() {
		s.pass(pick(s.rng, 60*time.Millisecond, 500*time.Millisecond, time.Second, 2*time.Second, 5*time.Second, 11*time.Second, 11*time.Second, 31*time.Second, 31*time.Second, 2*time.Minute))
	})
	s.processSteps(&goesOn, &faults)
	s.kubeletSteps(&goesOn)
	s.collectorSteps(&goesOn)
	s.user.steps(&edits)
	switch die := s.rng.IntN(100); {
	case die < faultRate && faults.choose(s.rng):
	case die >= 100-s.profile.edits && edits.choose(s.rng):
	default:
		goesOn.choose(s.rng)
	}
}

func (s *schedule) processSteps(goesOn, faults *choices) {
	for _, p := range s.running {
		faults.add(s.profile.crash, func() { s.crash(p) })
	}
	switch {
	case len(s.running) == 0:
		goesOn.add(20, s.start)
	case len(s.running) == 1 && s.profile.twins && len(s.processes) < 6:
		goesOn.add(2, s.start)
	}
}

func (s *schedule) requestSteps(goesOn, faults *choices, q *request) {
	if q.answer != nil {
		goesOn.add(10, func() { s.note("answer %s", short(q)); s.reply(q, *q.answer, nil) })
		return
	}
	if q.discovers() {
		goesOn.add(20, func() { // faults of it are the subject of TestDefinitionsComeAndGo
			for _, other := range s.requests() {
				if other.key == q.key {
					s.reply(other, s.serve(other, false), nil)
				}
			}
		})
		return
	}
	goesOn.add(20, func() { s.reply(q, s.serve(q, false), nil) })
	if q.reflects() {
		faults.add(s.profile.stale, func() { s.reply(q, s.serve(q, true), nil) })
	}
	times := 1 // what is written matters more than what is read
	if q.writes() && q.Resource != "events" {
		times = 6
	}
	faults.add(times*s.profile.lose, func() { s.lose(q) })
	faults.add(times*s.profile.refuse, func() { s.refuse(q) })
	if !q.writes() {
		return
	}
	faults.add(times*s.profile.late, func() { s.count("late"); a := s.serve(q, false); q.answer = &a })
	faults.add(times*s.profile.drop, func() { s.drop(q) })
	faults.add(times*s.profile.crash, func() { s.serve(q, false); s.crash(q.from) })
}

// short names a request in the trace, with a hash for its body.
func short(q *request) string {
	sum := fnv.New32a()
	_, _ = io.WriteString(sum, q.key) // never fails
	return fmt.Sprintf("%d %s %s %s %08x", q.from.id, q.Method, q.Resource, q.Name, sum.Sum32())
}

func (s *schedule) count(fault string) { s.Faults[fault]++ }

// serve carries a request out. A stale answer to a reflector is one that its request allows.
func (s *schedule) serve(q *request, stale bool) apimodel.Answer {
	if q.reflects() {
		a, at := s.reflect(q, stale)
		s.note("serve %s as of %d -> %d", short(q), at, a.Code)
		if a.Code >= 300 {
			q.from.fail(q.Resource)
		}
		return a
	}
	if q.discovers() {
		s.note("serve %s", short(q))
		return s.carryOut(q)
	}
	if s.intercept != nil {
		if a, done := s.intercept(q); done {
			return a
		}
	}
	version := s.model.Version()
	a := s.carryOut(q)
	s.note("serve %s -> %d%s", short(q), a.Code, said(a.Code, a.Body))
	if s.model.Version() != version {
		s.Writes++
		s.evidence.record(q, version, a)
	}
	return a
}

// said returns the message of a rejection.
func said(code int, body []byte) string {
	if code < 300 {
		return ""
	}
	return " " + string(body)
}

// reflect answers a list or a watch of a reflector.
func (s *schedule) reflect(q *request, stale bool) (apimodel.Answer, int64) {
	since, named := q.since()
	if named && since == 0 {
		s.violated("a list or watch of %s at resourceVersion 0", q.Resource)
	}
	initial := q.query.Get("sendInitialEvents") != ""
	if initial && s.profile.noWatchList {
		return refusal(http.StatusUnprocessableEntity, "Invalid", `sendInitialEvents: Forbidden: sendInitialEvents is forbidden for watch unless the WatchList feature gate is enabled`), 0
	}
	if named && q.Watch && !initial {
		return s.watch(q, since), since
	}
	at := s.model.Version()
	if named && stale && since < at {
		s.count("stale")
		at = since + s.rng.Int64N(at-since+1)
	}
	if q.Watch {
		return s.watch(q, at), at
	}
	return s.list(q, at), at
}

func (s *schedule) lose(q *request) {
	s.count("lost")
	s.note("lose %s", short(q))
	q.from.fail(q.Resource)
	err := errCut
	if q.reflects() { // client-go retries these by itself; for a reconcile it would be unknown whether it still runs
		err = pick(s.rng, error(syscall.ECONNRESET), io.ErrUnexpectedEOF, errCut)
	}
	s.reply(q, apimodel.Answer{}, err)
}

// drop carries a request out and loses the answer.
func (s *schedule) drop(q *request) {
	s.count("dropped")
	s.serve(q, false)
	if s.rng.IntN(2) == 0 {
		s.reply(q, refusal(http.StatusGatewayTimeout, "Timeout", "the request did not complete within the allotted time"), nil)
	} else {
		s.reply(q, apimodel.Answer{}, errCut)
	}
}

// refuse answers a request like an API server that is busy or starts, or whose webhook rejects it.
func (s *schedule) refuse(q *request) {
	refusals := []apimodel.Answer{
		refusal(http.StatusTooManyRequests, "TooManyRequests", "the server has received too many requests and has asked us to try again later"),
		refusal(http.StatusInternalServerError, "InternalError", "etcdserver: leader changed"),
		refusal(http.StatusServiceUnavailable, "ServiceUnavailable", "the server is currently unable to handle the request"),
		refusal(http.StatusGatewayTimeout, "Timeout", "the request did not complete within the allotted time"),
	}
	if q.writes() && q.Resource != "events" { // an event that is rejected for good is given up, which is allowed
		refusals = append(refusals, refusal(http.StatusConflict, "Conflict", "Operation cannot be fulfilled: please apply your changes to the latest version and try again"),
			refusal(http.StatusUnprocessableEntity, "Invalid", "admission webhook denied the request"),
			refusal(http.StatusForbidden, "Forbidden", "exceeded quota: small"))
	}
	if q.reflects() {
		refusals = append(refusals, refusal(http.StatusGone, "Expired", "too old resource version"))
	}
	a := pick(s.rng, refusals...)
	s.count(fmt.Sprint(a.Code))
	s.note("refuse %s with %d", short(q), a.Code)
	q.from.fail(q.Resource)
	s.reply(q, a, nil)
}

func refusal(code int, reason, message string) apimodel.Answer {
	return apimodel.Answer{Code: code, Body: status(code, reason, message)}
}

func status(code int, reason, message string) []byte {
	return encode(map[string]any{"kind": "Status", "apiVersion": "v1", "metadata": map[string]any{}, "status": "Failure", "reason": reason, "code": code, "message": message})
}

func (s *schedule) watchSteps(goesOn, faults *choices, w *watch) {
	cut := s.profile.cut
	if next, some := s.next(w); some {
		cut *= 4 // events that it has not received it may never receive
		goesOn.add(s.profile.lag, func() { s.deliver(w, next) })
	} else if w.Bookmarks {
		goesOn.add(min(s.profile.bookmark, 1), func() {
			s.note("bookmark %d %s %d", w.from.id, w.Resource.Plural, w.Position)
			w.events.Send(w.Bookmark(false))
		})
	}
	faults.add(cut, func() {
		s.count("cut")
		s.note("cut %d %s", w.from.id, w.Resource.Plural)
		w.from.fail(w.Resource.Plural)
		w.events.End()
	})
	faults.add(cut, func() {
		s.count("410")
		s.note("expire %d %s", w.from.id, w.Resource.Plural)
		w.from.fail(w.Resource.Plural)
		w.events.Send(apimodel.Event("ERROR", status(http.StatusGone, "Expired", "too old resource version")))
		w.events.End()
	})
}

func (s *schedule) deliver(w *watch, c apimodel.Change) {
	s.note("deliver %d %s %s %s v%d", w.from.id, c.Type, c.Resource, c.Name, c.Version)
	w.events.Send(apimodel.Event(c.Type, c.Object))
	w.Position = c.Version
}

// missing returns how long at most until every reflector has sent its next request; 0 if all have.
func (s *schedule) missing() (longest time.Duration) {
	for _, p := range s.running {
		longest = max(longest, p.missing())
	}
	return longest
}

// pass lets time pass, at least until every reflector has sent its next request.
func (s *schedule) pass(d time.Duration) {
	d = max(d, s.missing())
	s.note("%s pass", d)
	time.Sleep(d)
	for range 12 {
		synctest.Wait()
		longest := s.missing()
		if longest == 0 {
			return
		}
		s.note("a reflector is late")
		time.Sleep(longest)
	}
	s.violated("a reflector does not ask again")
}
