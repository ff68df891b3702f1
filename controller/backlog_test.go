package controller

import (
	"context"
	"fmt"
	"net/http"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"
	corev1 "k8s.io/api/core/v1"

	"stoic/controller/plan"
	"stoic/schema"
)

// problems are the events of a rejection with many problems: five and one that counts the others.
func problems(since time.Time) []plan.Event {
	events := make([]plan.Event, schema.MaxTold+1)
	for i := range events {
		path := fmt.Sprintf("spec.tfReplicaSpecs.Worker.template.spec.containers[0].env[%d].value", i)
		events[i] = plan.Event{Type: "Warning", Reason: "TFJobFailedValidation", FieldPath: path,
			Message: path + `: found number 3, must be a string; quote it: "3"`, Occasion: "generation 1", Since: since}
	}
	return events
}

const (
	floodOfJobs   = 10_000
	floodOfEvents = floodOfJobs * (schema.MaxTold + 1)
	floodPatience = 8 * time.Minute
)

// Ten thousand objects are rejected at once while the API server refuses, fails and hangs up: every event arrives, once
// each. There is room for a tenth of them at a time; the others come back, as the passes that asked for them do.
func TestFloodLosesNothing(t *testing.T) {
	s := &eventServer{events: map[string]corev1.Event{}, fail: func(post int) int {
		switch {
		case post%13 == 0:
			return http.StatusTooManyRequests
		case post%17 == 0:
			return http.StatusInternalServerError
		case post%997 == 0:
			return cutOff
		}
		return 0
	}}
	e := newTestEmitter(t, s, time.Now)
	// With -short, which is with the race detector, a tenth of it: the work is that of the encoders.
	jobs, room := floodOfJobs, 6<<20
	if testing.Short() {
		jobs, room = jobs/10, room/3 // more than what a namespace may always have
	}
	e.mu.Lock()
	e.roomy, e.full = room, 2*room
	e.mu.Unlock()

	events := problems(time.Now())
	passes := make(chan string, jobs)
	for i := range jobs {
		passes <- fmt.Sprint("job-", i)
	}
	postponed, most := 0, 0
	for deadline := time.Now().Add(floodPatience); len(passes) > 0; {
		if time.Now().After(deadline) {
			t.Fatalf("%d objects still have events untold", len(passes))
		}
		name := <-passes
		if !e.tell(headOf(name), events) {
			postponed++
			passes <- name
			time.Sleep(time.Millisecond) // as a pass that is queued again does
		}
		e.mu.Lock()
		most = max(most, e.bytes)
		if gauge := testutil.ToFloat64(e.metrics.eventBacklog); gauge != float64(len(e.waiting)) {
			t.Errorf("the gauge says %v, and %d wait", gauge, len(e.waiting))
		}
		e.mu.Unlock()
	}
	e.drain(context.Background(), floodPatience)
	checkFlood(t, s, e, jobs*(schema.MaxTold+1))
	if postponed == 0 || most > room+(8<<10) {
		t.Errorf("%d passes came back; up to %d bytes waited, want about %d", postponed, most, room)
	}
	t.Logf("%d posts; %d passes came back; at most %d KB waited", s.posts, postponed, most>>10)
}

func checkFlood(t *testing.T, s *eventServer, e *emitter, want int) {
	t.Helper()
	if len(s.events) != want {
		t.Errorf("%d events, want %d", len(s.events), want)
	}
	of := map[string]int{}
	for _, event := range s.events {
		of[event.InvolvedObject.Name+event.InvolvedObject.FieldPath]++
	}
	for what, n := range of {
		if n != 1 {
			t.Fatalf("%s: %d events", what, n)
		}
	}
	result := func(name string) float64 { return testutil.ToFloat64(e.metrics.events.WithLabelValues(name)) }
	if sum := result("sent") + result("known"); sum != float64(want) || result("refused")+result("late") != 0 {
		t.Errorf("%v sent, %v known, %v refused, %v late", result("sent"), result("known"), result("refused"), result("late"))
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if gauge := testutil.ToFloat64(e.metrics.eventBacklog); gauge != 0 || len(e.waiting)+len(e.crowd)+e.bytes != 0 {
		t.Errorf("left: %v by the gauge, %d events, %v by namespace, %d bytes", gauge, len(e.waiting), e.crowd, e.bytes)
	}
}

// A bound on what is counted is a bound on memory only if the count is right.
func TestBacklogMemory(t *testing.T) {
	e := idleEmitter(t)
	heap := func() uint64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	before := heap()
	for i := range floodOfJobs {
		if !e.tell(headOf(fmt.Sprint("job-", i)), problems(time.Now())) {
			t.Fatal("no room for a usual flood")
		}
	}
	took := heap() - before
	t.Logf("%d events: %d bytes each, counted as %d", len(e.waiting), took/floodOfEvents, e.bytes/floodOfEvents)
	if took > uint64(e.bytes)*5/4 {
		t.Errorf("%d events take %d bytes and are counted as %d", floodOfEvents, took, e.bytes)
	}
	runtime.KeepAlive(e)
}

// idleEmitter tells nothing.
func idleEmitter(t *testing.T) *emitter {
	t.Helper()
	c := newTestController(t, newAPIServer(t), nil)
	t.Cleanup(c.emitter.queue.ShutDown)
	return c.emitter
}

func TestBacklogIsBounded(t *testing.T) {
	since := time.Now()
	derived := plan.Event{Type: "Warning", Reason: "R", Message: strings.Repeat("m", 100), Since: since}
	fired := plan.Event{Type: "Normal", Reason: "R", Message: "Created pods: a"}
	few := func(e *emitter) { e.bytes = e.roomy }
	crowded := func(e *emitter) { e.bytes, e.crowd["ns"] = e.roomy, fewWait }
	full := func(e *emitter) { e.bytes = e.full }
	for _, c := range []struct {
		name    string
		state   func(*emitter)
		event   plan.Event
		all     bool
		waiting int
		result  string
	}{
		{"room for all", func(*emitter) {}, derived, true, 1, ""},
		{"others have taken the room", few, derived, true, 1, ""},
		{"the namespace has taken the room", crowded, derived, false, 0, "postponed"},
		{"the namespace has taken the room, and nobody would ask again", crowded, fired, true, 1, ""},
		{"no room at all", full, derived, false, 0, "postponed"},
		{"no room at all, and nobody would ask again", full, fired, true, 0, "refused"},
	} {
		e := idleEmitter(t)
		c.state(e)
		if all := e.tell(headOf("a"), []plan.Event{c.event}); all != c.all || len(e.waiting) != c.waiting || len(e.told) != c.waiting {
			t.Errorf("%s: %v, %d wait, %d are remembered as told", c.name, all, len(e.waiting), len(e.told))
		}
		if got := testutil.ToFloat64(e.metrics.eventBacklog); got != float64(c.waiting) {
			t.Errorf("%s: the gauge says %v", c.name, got)
		}
		for _, result := range []string{"postponed", "refused"} {
			if got := testutil.ToFloat64(e.metrics.events.WithLabelValues(result)); (got == 1) != (result == c.result) {
				t.Errorf("%s: %v %s", c.name, got, result)
			}
		}
	}
}

// A pass whose events found no room comes back for them, and holds up nothing else meanwhile.
func TestPassComesBackForItsEvents(t *testing.T) {
	s := newAPIServer(t)
	c := newTestController(t, s, nil)
	t.Cleanup(c.emitter.queue.ShutDown)
	l, seen := c.loops[0], plan.Observed{Head: headOf("a")}
	pass := func(recheck time.Duration) time.Duration {
		again, err := l.execute(t.Context(), seen, plan.Plan{Events: problems(time.Now()), Recheck: recheck})
		if err != nil {
			t.Fatal(err)
		}
		return again
	}
	c.emitter.bytes = c.emitter.full
	for recheck, want := range map[time.Duration]time.Duration{0: untoldAgain, time.Hour: untoldAgain, time.Second: time.Second} {
		if got := pass(recheck); got != want {
			t.Errorf("a pass that wants to come back in %s does so in %s, want %s", recheck, got, want)
		}
	}
	c.emitter.bytes = 0
	if got := pass(0); got != 0 || c.emitter.left() != schema.MaxTold+1 {
		t.Errorf("once there is room: comes back in %s, %d events wait", got, c.emitter.left())
	}
}

func TestLane(t *testing.T) {
	now := time.Now()
	about := &subject{kind: schema.TFJob()}
	for _, c := range []struct {
		reason string
		age    time.Duration
		want   string
	}{
		{"TFJobSucceeded", 0, "life"}, {"TFJobFailed", oldNews, "life"}, {schema.ReasonNameConflict, 0, "life"},
		{"TFJobFailedValidation", 0, "spec"}, {"TFJobSpecWarning", 0, "spec"}, {"UnknownField", 0, "spec"},
		{"TFJobFailedValidation", time.Hour, "past"}, {"TFJobSucceeded", 2 * oldNews, "past"},
	} {
		if got := lane(about, plan.Event{Reason: c.reason, Since: now.Add(-c.age)}, now); got != c.want {
			t.Errorf("%s, %s ago: %s, want %s", c.reason, c.age, got, c.want)
		}
	}
}
