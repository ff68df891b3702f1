package events

import (
	"context"
	"fmt"
	"net/http"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"
	"k8s.io/client-go/rest"

	"stoic/controller/serve"
	"stoic/schema"
)

// problems returns the events of a rejection with many problems: five and one that counts the others.
func problems(since time.Time) []schema.Event {
	events := make([]schema.Event, schema.MaxReported+1)
	for i := range events {
		path := fmt.Sprintf("spec.tfReplicaSpecs.Worker.template.spec.containers[0].env[%d].value", i)
		events[i] = schema.Event{Type: "Warning", Reason: "TFJobFailedValidation", FieldPath: path,
			Message: path + `: found number 3, must be a string; quote it: "3"`, Occasion: "generation 1", Since: since}
	}
	return events
}

const (
	floodOfJobs   = 10_000
	floodOfEvents = floodOfJobs * (schema.MaxReported + 1)
	floodPatience = 8 * time.Minute
)

// TestFloodLosesNothing: ten thousand objects are rejected together while the API server refuses, fails and hangs up: every event
// arrives, once each. There is room for a tenth of them at a time; the others are emitted again, as reconciles do it.
func TestFloodLosesNothing(t *testing.T) {
	s := newEventServer(t, func(post int) int {
		switch {
		case post%13 == 0:
			return http.StatusTooManyRequests
		case post%17 == 0:
			return http.StatusInternalServerError
		case post%997 == 0:
			return cutOff
		}
		return 0
	})
	e := newTestEmitter(t, s, time.Now)
	// With -short, as under the race detector, a tenth of that: the encoders do most of the work.
	jobs, room := floodOfJobs, 6<<20
	if testing.Short() {
		jobs, room = jobs/10, room/3 // more than what a namespace may always have
	}
	e.mu.Lock()
	e.roomy, e.full = room, 2*room
	e.mu.Unlock()

	events := problems(time.Now())
	again := make(chan string, jobs)
	for i := range jobs {
		again <- fmt.Sprint("job-", i)
	}
	postponed, most := 0, 0
	for deadline := time.Now().Add(floodPatience); len(again) > 0; {
		if time.Now().After(deadline) {
			t.Fatalf("%d objects still have events pendingEvent", len(again))
		}
		name := <-again
		if !e.Emit(headOf(name), events) {
			postponed++
			again <- name
			time.Sleep(time.Millisecond) // as a reconcile that is queued again does
		}
		e.mu.Lock()
		most = max(most, e.bytes)
		if gauge := testutil.ToFloat64(e.metrics.EventBacklog); gauge != float64(len(e.waiting)) {
			t.Errorf("the gauge says %v, and %d wait", gauge, len(e.waiting))
		}
		e.mu.Unlock()
	}
	e.Drain(context.Background(), floodPatience)
	checkFlood(t, s, e, jobs*(schema.MaxReported+1))
	if postponed == 0 || most > room+(8<<10) {
		t.Errorf("%d reconciles came back; up to %d bytes waited, want about %d", postponed, most, room)
	}
	t.Logf("%d posts; %d reconciles came back; at most %d KB waited", s.posts, postponed, most>>10)
}

func checkFlood(t *testing.T, s *eventServer, e *Emitter, want int) {
	t.Helper()
	if len(s.events()) != want {
		t.Errorf("%d events, want %d", len(s.events()), want)
	}
	of := map[string]int{}
	for _, event := range s.events() {
		of[event.InvolvedObject.Name+event.InvolvedObject.FieldPath]++
	}
	for what, n := range of {
		if n != 1 {
			t.Fatalf("%s: %d events", what, n)
		}
	}
	result := func(name string) float64 { return testutil.ToFloat64(e.metrics.Events.WithLabelValues(name)) }
	if sum := result("sent") + result("known"); sum != float64(want) || result("refused")+result("late") != 0 {
		t.Errorf("%v sent, %v known, %v refused, %v late", result("sent"), result("known"), result("refused"), result("late"))
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if gauge := testutil.ToFloat64(e.metrics.EventBacklog); gauge != 0 || len(e.waiting)+len(e.crowd)+e.bytes != 0 {
		t.Errorf("left: %v by the gauge, %d events, %v by namespace, %d bytes", gauge, len(e.waiting), e.crowd, e.bytes)
	}
}

// TestBacklogMemory: a bound on what is counted is a bound on memory only if the count is right. What an earlier test has left may be freed
// meanwhile, which makes a measurement too small: the largest of three counts.
func TestBacklogMemory(t *testing.T) {
	heap := func() int64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc)
	}
	var took, counted int64
	for range 3 {
		e, before := idleEmitter(t), heap()
		for i := range floodOfJobs {
			if !e.Emit(headOf(fmt.Sprint("job-", i)), problems(time.Now())) {
				t.Fatal("no room for a usual flood")
			}
		}
		took, counted = max(took, heap()-before), int64(e.bytes)
		t.Logf("%d events: counted as %d bytes each", len(e.waiting), counted/floodOfEvents)
		e.ShutDown()
	}
	t.Logf("they take %d bytes each", took/floodOfEvents)
	if took > counted*5/4 || took < counted/2 {
		t.Errorf("%d events take %d bytes and are counted as %d", floodOfEvents, took, counted)
	}
}

// idleEmitter sends nothing.
func idleEmitter(t *testing.T) *Emitter {
	t.Helper()
	e, err := NewEmitter(&rest.Config{}, Options{Reporter: "training-operator", Identity: "me", QPS: -1, Log: zap.NewNop(), Now: time.Now,
		Metrics: serve.NewMetrics(prometheus.NewRegistry(), "test_operator")})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(e.ShutDown)
	return e
}

func TestBacklogIsBounded(t *testing.T) {
	since := time.Now()
	derived := schema.Event{Type: "Warning", Reason: "R", Message: strings.Repeat("m", 100), Since: since}
	fired := schema.Event{Type: "Normal", Reason: "R", Message: "Created pods: a"}
	few := func(e *Emitter) { e.bytes = e.roomy }
	crowded := func(e *Emitter) { e.bytes, e.crowd["ns"] = e.roomy, fewWait }
	full := func(e *Emitter) { e.bytes = e.full }
	for _, c := range []struct {
		name    string
		state   func(*Emitter)
		event   schema.Event
		all     bool
		waiting int
		result  string
	}{
		{"room for all", func(*Emitter) {}, derived, true, 1, ""},
		{"others have taken the room", few, derived, true, 1, ""},
		{"the namespace has taken the room", crowded, derived, false, 0, "postponed"},
		{"the namespace has taken the room, and no reconcile would emit it again", crowded, fired, true, 1, ""},
		{"no room at all", full, derived, false, 0, "postponed"},
		{"no room at all, and no reconcile would emit it again", full, fired, true, 0, "dropped"},
	} {
		e := idleEmitter(t)
		c.state(e)
		if all := e.Emit(headOf("a"), []schema.Event{c.event}); all != c.all || len(e.waiting) != c.waiting || len(e.recent) != c.waiting {
			t.Errorf("%s: %v, %d wait, %d are remembered as told", c.name, all, len(e.waiting), len(e.recent))
		}
		if got := testutil.ToFloat64(e.metrics.EventBacklog); got != float64(c.waiting) {
			t.Errorf("%s: the gauge says %v", c.name, got)
		}
		for _, result := range []string{"postponed", "dropped", "refused"} {
			if got := testutil.ToFloat64(e.metrics.Events.WithLabelValues(result)); (got == 1) != (result == c.result) {
				t.Errorf("%s: %v %s", c.name, got, result)
			}
		}
	}
}

// TestDropsAreLogged: a flood of dropped events is a line a minute, with their number.
func TestDropsAreLogged(t *testing.T) {
	e := idleEmitter(t)
	core, logged := observer.New(zap.WarnLevel)
	now := time.Now()
	e.log, e.now, e.bytes = zap.New(core), func() time.Time { return now }, e.full
	var got []int64
	for second := range 150 {
		now = now.Add(time.Second)
		e.Emit(headOf("a"), []schema.Event{{Type: "Normal", Reason: "R", Message: fmt.Sprint("Created pod: a-", second)}})
	}
	for _, entry := range logged.AllUntimed() {
		got = append(got, entry.ContextMap()["dropped"].(int64))
	}
	if !slices.Equal(got, []int64{1, 60, 60}) {
		t.Errorf("logged as dropped: %v, want 1, 60 and 60", got)
	}
}

// TestWaitingEventIsKnown: the API server takes no events for longer than sent ones are remembered, and reconciles emit the same event
// again. It waits once, is counted once, and keeps its time.
func TestWaitingEventIsKnown(t *testing.T) {
	since := time.Now()
	for name, event := range map[string]schema.Event{
		"what happens": {Type: "Normal", Reason: "Created", Message: "Created pods: a"},
		"a refusal":    {Type: "Warning", Reason: "FailedCreate", Message: "exceeded quota", Occasion: "generation 1", Key: "create Pod: QuotaExceeded"},
		"derived":      {Type: "Warning", Reason: "InvalidSpec", Message: "m", Occasion: "generation 1", Since: since},
	} {
		t.Run(name, func(t *testing.T) {
			e, now := idleEmitter(t), since
			e.now, e.rotated = func() time.Time { return now }, now
			for range 96 { // for two days
				if !e.Emit(headOf("a"), []schema.Event{event}) {
					t.Fatal("the event is postponed")
				}
				now = now.Add(memoryPeriod + time.Minute)
			}
			if len(e.waiting) != 1 {
				t.Errorf("%d events wait, want 1", len(e.waiting))
			}
			for key, u := range e.waiting {
				if !u.Since.Equal(since) {
					t.Errorf("it is of %v, want %v", u.Since, since)
				}
				e.remove(key)
			}
			if e.bytes != 0 || len(e.crowd) != 0 || len(e.keyed) != 0 {
				t.Errorf("nothing waits, and %d bytes are counted, %v of namespaces, %d keys", e.bytes, e.crowd, len(e.keyed))
			}
		})
	}
}
