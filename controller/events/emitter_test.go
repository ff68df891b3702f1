package events

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	goruntime "runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	runtimeschema "k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"stoic/controller/serve"
	"stoic/schema"
	"stoic/test/faults/apimodel"
	"stoic/test/faults/apimodel/server"
)

// eventServer counts what is posted to a model of the API server; fail lets it answer something else.
type eventServer struct {
	*server.Server
	posts int
}

const cutOff = -1

// newEventServer accepts every event unless fail returns an HTTP code, or cutOff to accept it and answer nothing.
func newEventServer(t *testing.T, fail func(post int) int) *eventServer {
	t.Helper()
	s := &eventServer{Server: server.New(t, apimodel.Resource{Version: "v1", Plural: "events", Kind: "Event", Namespaced: true})}
	s.Before = func(server.Request) (no *metav1.Status) {
		s.Locked(func() {
			s.posts++
			if fail == nil {
				return
			}
			switch code := fail(s.posts); {
			case code == cutOff:
				no = server.Lost()
			case code > 0:
				no = server.Refusal(code, "not now")
			}
		})
		return no
	}
	return s
}

// events returns the events that were accepted, by name.
func (s *eventServer) events() map[string]corev1.Event {
	found := map[string]corev1.Event{}
	s.Locked(func() {
		for _, o := range s.Objects("events") {
			var e corev1.Event
			if err := runtime.DefaultUnstructuredConverter.FromUnstructured(o, &e); err == nil {
				found[e.Name] = e
			}
		}
	})
	return found
}

// newTestEmitter runs an emitter against s until the test ends.
func newTestEmitter(t *testing.T, s *eventServer, now func() time.Time) *Emitter {
	t.Helper()
	e, err := NewEmitter(s.Config(), Options{Reporter: "training-operator", Identity: "me", QPS: -1, Log: zap.NewNop(), Now: now,
		Metrics: serve.NewMetrics(prometheus.NewRegistry(), "test_operator")})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() { defer close(ended); e.Run(ctx) }()
	t.Cleanup(func() { cancel(); <-ended })
	return e
}

// tfjobs are the resource of the objects that the tests emit events about.
var tfjobs = schema.Resource{Group: "kubeflow.org", Version: "v1", Plural: "tfjobs", Kind: "TFJob"}

func headOf(name string) *schema.Head {
	return &schema.Head{Resource: tfjobs, Meta: metav1.ObjectMeta{Name: name, Namespace: "ns", UID: types.UID("uid-" + name)}}
}

func TestEmitterTellsEachOccasionOnce(t *testing.T) {
	s := newEventServer(t, nil)
	first, second := newTestEmitter(t, s, time.Now), newTestEmitter(t, s, time.Now)
	a := schema.Event{Type: "Warning", Reason: "R", FieldPath: "spec.a", Message: "spec.a: no\ngood \x1b[31m" + strings.Repeat("x", 2000), Occasion: "generation 1"}
	b := a
	b.Occasion = "generation 2"
	first.Emit(headOf("a"), []schema.Event{a, a, b})
	first.Emit(headOf("a"), []schema.Event{a})
	first.Drain(context.Background(), server.Patience)
	second.Emit(headOf("a"), []schema.Event{a, b}) // another process, after a restart
	second.Drain(context.Background(), server.Patience)
	second.Emit(headOf(strings.Repeat("n", 253)), []schema.Event{a})
	second.Drain(context.Background(), server.Patience)
	if len(s.events()) != 3 {
		t.Fatalf("%d events, want 3", len(s.events()))
	}
	if s.posts != 5 {
		t.Errorf("%d posts, want 5: one each, and one each by the second process", s.posts)
	}
	for name, e := range s.events() {
		if len(name) > 253 {
			t.Errorf("the name is %d long", len(name))
		}
		if len(e.Message) > 1024 || strings.ContainsAny(e.Message, "\n\x1b") {
			t.Errorf("message: %q", e.Message)
		}
		if e.InvolvedObject.FieldPath != "spec.a" || e.InvolvedObject.Kind != "TFJob" || e.InvolvedObject.ResourceVersion != "" || e.Source.Component != "training-operator" {
			t.Errorf("event: %+v", e)
		}
	}
}

func TestEmitterForgetsInTime(t *testing.T) {
	now := time.Unix(0, 0)
	var mu sync.Mutex
	clock := func() time.Time { mu.Lock(); defer mu.Unlock(); return now }
	s := newEventServer(t, nil)
	e := newTestEmitter(t, s, clock)
	for period := range 4 {
		e.Emit(headOf("a"), []schema.Event{{Type: "Normal", Reason: "R", Message: fmt.Sprint(period), Occasion: "o"}})
		e.Drain(context.Background(), server.Patience)
		mu.Lock()
		now = now.Add(memoryPeriod + time.Second)
		mu.Unlock()
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if len(e.recent)+len(e.earlier) != 2 {
		t.Errorf("remembers %d names of four periods", len(e.recent)+len(e.earlier))
	}
}

// TestIsFinal: a refused request is given up after some tries, as a webhook may be wrong; one that fails is retried
// until the event is too old.
func TestIsFinal(t *testing.T) {
	down, no := apierrors.NewInternalError(errors.New("down")), apierrors.NewForbidden(corev1.Resource("events"), "a", nil)
	wrong := apierrors.NewInvalid(runtimeschema.GroupKind{Kind: "Event"}, "a", nil)
	webhook := apierrors.NewNotFound(corev1.Resource("policies"), "a") // it looks up what is not there
	for _, c := range []struct {
		err   error
		tries int
		want  bool
	}{
		{down, 1000, false}, {errors.New("connection refused"), 1000, false},
		{no, 0, false}, {no, refusedTries, true}, {webhook, 0, false}, {webhook, refusedTries, true}, {wrong, 0, false}, {wrong, refusedTries, true}, {apierrors.NewNotFound(corev1.Resource("namespaces"), "a"), 0, true},
	} {
		if got := isFinal(c.err, c.tries); got != c.want {
			t.Errorf("%v at the %dth try: %v", c.err, c.tries, got)
		}
	}
}

// TestEmitterTellsNothingTooLate: an event that another process may have sent an hour ago could now be a duplicate, as
// the API server may have dropped the first.
func TestEmitterTellsNothingTooLate(t *testing.T) {
	s := newEventServer(t, nil)
	now := time.Now().Truncate(time.Second) // as an event has it
	e := newTestEmitter(t, s, func() time.Time { return now })
	happened := func(age time.Duration) schema.Event {
		return schema.Event{Type: "Warning", Reason: "R", Message: age.String(), Occasion: "o", Since: now.Add(-age)}
	}
	e.Emit(headOf("a"), []schema.Event{happened(0), happened(44 * time.Minute), happened(sendFor), happened(sendFor + time.Second)})
	e.Drain(context.Background(), server.Patience)
	var reported []string
	for _, event := range s.events() {
		reported = append(reported, event.Message)
		if age := now.Sub(event.LastTimestamp.Time); age.String() != event.Message {
			t.Errorf("%s ago: the event says %s", event.Message, age)
		}
	}
	slices.Sort(reported)
	if diff := cmp.Diff([]string{"0s", "44m0s", "55m0s"}, reported); diff != "" {
		t.Errorf("told (-want +got):\n%s", diff)
	}
	if e.left() != 0 || testutil.ToFloat64(e.metrics.EventBacklog) != 0 || testutil.ToFloat64(e.metrics.Events.WithLabelValues("late")) != 1 {
		t.Errorf("%d wait, the gauge says %v", e.left(), testutil.ToFloat64(e.metrics.EventBacklog))
	}
}

// waitingPods returns an event about so many pods that wait, for one reason.
func waitingPods(n int) schema.Event {
	return schema.Event{Type: "Warning", Reason: "PodUnschedulable", Message: fmt.Sprintf("%d pods wait", n), Key: "pods", Occasion: "start",
		Since: time.Now(), Count: &schema.Count{Counter: "pods", Reason: "PodUnschedulable"}}
}

// messages returns the messages that the server has, in order.
func (s *eventServer) messages() (all []string) {
	for _, event := range s.events() {
		all = append(all, event.Message)
	}
	slices.Sort(all)
	return all
}

// counting makes an emitter count.
func counting(e *Emitter) (counts func() []string) {
	var mu sync.Mutex
	var all []string
	e.count = func(head *schema.Head, c schema.Count) {
		mu.Lock()
		defer mu.Unlock()
		all = append(all, fmt.Sprint(head.Resource.Kind, " ", head.Key(), " ", c.Counter, " ", c.Reason))
	}
	return func() []string {
		mu.Lock()
		defer mu.Unlock()
		return slices.Clone(all)
	}
}

// TestOneEventOfAKey: of one key one event is sent, with the message that was planned last, whatever follows it and whichever process
// sends it; and it is counted once.
func TestOneEventOfAKey(t *testing.T) {
	s := newEventServer(t, nil)
	first, second := newTestEmitter(t, s, time.Now), newTestEmitter(t, s, time.Now)
	counts, again := counting(first), counting(second)
	const settle = 100 * time.Millisecond
	var planned []schema.Event
	for n := range 3 {
		event := waitingPods(n + 1)
		event.Settle = settle
		planned = append(planned, event)
	}
	began := time.Now()
	first.Emit(headOf("a"), planned)
	first.Drain(context.Background(), server.Patience)
	if took := time.Since(began); took < settle {
		t.Errorf("it was sent after %s, and was to settle for %s", took, settle)
	}
	if diff := cmp.Diff([]string{"3 pods wait"}, s.messages()); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
	first.Emit(headOf("a"), []schema.Event{waitingPods(1000)}) // it was sent
	first.Drain(context.Background(), server.Patience)
	second.Emit(headOf("a"), []schema.Event{waitingPods(4)}) // after a restart
	second.Drain(context.Background(), server.Patience)
	if len(s.messages()) != 1 {
		t.Errorf("%q", s.messages())
	}
	if diff := cmp.Diff([]string{"TFJob ns/a pods PodUnschedulable"}, append(counts(), again()...)); diff != "" {
		t.Errorf("counted (-want +got):\n%s", diff)
	}
	other, later := waitingPods(5), waitingPods(6)
	other.Key, later.Occasion = "services", "restart"
	first.Emit(headOf("a"), []schema.Event{other, later})
	first.Drain(context.Background(), server.Patience)
	if diff := cmp.Diff([]string{"3 pods wait", "5 pods wait", "6 pods wait"}, s.messages()); diff != "" {
		t.Errorf("another key and another occasion (-want +got):\n%s", diff)
	}
}

// TestCountedAlthoughTheAnswerWasLost: the second request finds the event of the first.
func TestCountedAlthoughTheAnswerWasLost(t *testing.T) {
	s := newEventServer(t, func(post int) int {
		if post == 1 {
			return cutOff
		}
		return 0
	})
	e := newTestEmitter(t, s, time.Now)
	counts := counting(e)
	e.Emit(headOf("a"), []schema.Event{waitingPods(1)})
	e.Drain(context.Background(), server.Patience)
	if got := counts(); len(got) != 1 || s.posts != 2 {
		t.Errorf("%d requests, counted %v", s.posts, got)
	}
}

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
	floodOfJobs   = 300
	floodOfEvents = floodOfJobs * (schema.MaxReported + 1)
	floodPatience = 8 * time.Minute
)

// TestFloodLosesNothing: hundreds of objects are rejected together while the API server refuses, fails and hangs up: every event
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
	const room = 1 << 20 // more than what a namespace may always have
	e.mu.Lock()
	e.roomy, e.full = room, 2*room
	e.mu.Unlock()

	events := problems(time.Now())
	again := make(chan string, floodOfJobs)
	for i := range floodOfJobs {
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
	checkFlood(t, s, e, floodOfEvents)
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
		goruntime.GC()
		var m goruntime.MemStats
		goruntime.ReadMemStats(&m)
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
