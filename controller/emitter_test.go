package controller

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"go.uber.org/zap"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	runtimeschema "k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"

	"stoic/controller/plan"
	"stoic/schema"
)

// eventServer keeps events by name and answers 409 to a second one, as an API server does; fail lets it answer
// something else first.
type eventServer struct {
	mu     sync.Mutex
	events map[string]corev1.Event
	posts  int
	fail   func(post int) int // HTTP code, 0 to take the event, cutOff to take it and answer nothing
}

const cutOff = -1

func (s *eventServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.posts++
	status := func(code int, reason metav1.StatusReason) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(code)
		_ = json.NewEncoder(w).Encode(metav1.Status{TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}, Status: metav1.StatusFailure, Code: int32(code), Reason: reason})
	}
	code := 0
	if s.fail != nil {
		if code = s.fail(s.posts); code > 0 {
			status(code, metav1.StatusReasonInternalError)
			return
		}
	}
	var e corev1.Event
	if err := json.NewDecoder(r.Body).Decode(&e); err != nil {
		status(http.StatusBadRequest, metav1.StatusReasonBadRequest)
		return
	}
	if _, taken := s.events[e.Name]; taken {
		status(http.StatusConflict, metav1.StatusReasonAlreadyExists)
		return
	}
	s.events[e.Name] = e
	if code == cutOff {
		panic(http.ErrAbortHandler)
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusCreated)
	_, _ = io.WriteString(w, `{"kind":"Event","apiVersion":"v1"}`)
}

// newTestEmitter runs an emitter against s until the test ends.
func newTestEmitter(t *testing.T, s *eventServer, now func() time.Time) *emitter {
	t.Helper()
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	config := &rest.Config{Host: server.URL, ContentConfig: rest.ContentConfig{ContentType: "application/json"}}
	e, err := newEmitter(config, Options{Identity: "me", EventQPS: -1, Log: zap.NewNop(), Now: now}, newMetrics(prometheus.NewRegistry()))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() { defer close(ended); e.run(ctx) }()
	t.Cleanup(func() { cancel(); <-ended })
	return e
}

func headOf(name string) *schema.Head {
	return &schema.Head{Kind: schema.TFJob(), Meta: metav1.ObjectMeta{Name: name, Namespace: "ns", UID: "uid-" + uid(name)}}
}

func TestEmitterTellsEachOccasionOnce(t *testing.T) {
	s := &eventServer{events: map[string]corev1.Event{}}
	first, second := newTestEmitter(t, s, time.Now), newTestEmitter(t, s, time.Now)
	a := plan.Event{Type: "Warning", Reason: "R", FieldPath: "spec.a", Message: "spec.a: no\ngood \x1b[31m" + strings.Repeat("x", 2000), Occasion: "generation 1"}
	b := a
	b.Occasion = "generation 2"
	first.tell(headOf("a"), []plan.Event{a, a, b})
	first.tell(headOf("a"), []plan.Event{a})
	first.drain(context.Background(), 10*time.Second)
	second.tell(headOf("a"), []plan.Event{a, b}) // another process, after a restart
	second.drain(context.Background(), 10*time.Second)
	second.tell(headOf(strings.Repeat("n", 253)), []plan.Event{a})
	second.drain(context.Background(), 10*time.Second)
	if len(s.events) != 3 {
		t.Fatalf("%d events, want 3", len(s.events))
	}
	if s.posts != 5 {
		t.Errorf("%d posts, want 5: one each, and one each by the second process", s.posts)
	}
	for name, e := range s.events {
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

func TestEmitterLosesNothing(t *testing.T) {
	s := &eventServer{events: map[string]corev1.Event{}, fail: func(post int) int {
		if post%3 == 0 {
			return http.StatusInternalServerError
		}
		return 0
	}}
	e := newTestEmitter(t, s, time.Now)
	const jobs = 60
	for i := range jobs {
		e.tell(headOf(fmt.Sprint("job-", i)), []plan.Event{{Type: "Warning", Reason: "R", Message: "m", Occasion: "o"}})
	}
	e.drain(context.Background(), 30*time.Second)
	if len(s.events) != jobs || e.left() != 0 {
		t.Errorf("%d events of %d; %d wait", len(s.events), jobs, e.left())
	}
}

func TestEmitterForgetsInTime(t *testing.T) {
	now := time.Unix(0, 0)
	var mu sync.Mutex
	clock := func() time.Time { mu.Lock(); defer mu.Unlock(); return now }
	s := &eventServer{events: map[string]corev1.Event{}}
	e := newTestEmitter(t, s, clock)
	for period := range 4 {
		e.tell(headOf("a"), []plan.Event{{Type: "Normal", Reason: "R", Message: fmt.Sprint(period), Occasion: "o"}})
		e.drain(context.Background(), 10*time.Second)
		mu.Lock()
		now = now.Add(memoryPeriod + time.Second)
		mu.Unlock()
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if len(e.told)+len(e.toldBefore) != 2 {
		t.Errorf("remembers %d names of four periods", len(e.told)+len(e.toldBefore))
	}
}

// What is refused is given up after some tries, for a webhook may err; what fails is tried until it is too old.
func TestUntellable(t *testing.T) {
	down, no := apierrors.NewInternalError(errors.New("down")), apierrors.NewForbidden(corev1.Resource("events"), "a", nil)
	wrong := apierrors.NewInvalid(runtimeschema.GroupKind{Kind: "Event"}, "a", nil)
	for _, c := range []struct {
		err   error
		tries int
		want  bool
	}{
		{down, 1000, false}, {errors.New("connection refused"), 1000, false},
		{no, 0, false}, {no, refusedTries, true}, {wrong, 0, false}, {wrong, refusedTries, true}, {apierrors.NewNotFound(corev1.Resource("namespaces"), "a"), 0, true},
	} {
		if got := untellable(c.err, c.tries); got != c.want {
			t.Errorf("%v at the %dth try: %v", c.err, c.tries, got)
		}
	}
}

// An event that another process may have told an hour ago would now be a second one: the first is forgotten.
func TestEmitterTellsNothingTooLate(t *testing.T) {
	s := &eventServer{events: map[string]corev1.Event{}}
	now := time.Now().Truncate(time.Second) // as an event has it
	e := newTestEmitter(t, s, func() time.Time { return now })
	happened := func(age time.Duration) plan.Event {
		return plan.Event{Type: "Warning", Reason: "R", Message: age.String(), Occasion: "o", Since: now.Add(-age)}
	}
	e.tell(headOf("a"), []plan.Event{happened(0), happened(44 * time.Minute), happened(sendFor), happened(sendFor + time.Second)})
	e.drain(context.Background(), 10*time.Second)
	var told []string
	for _, event := range s.events {
		told = append(told, event.Message)
		if age := now.Sub(event.LastTimestamp.Time); age.String() != event.Message {
			t.Errorf("%s ago: the event says %s", event.Message, age)
		}
	}
	slices.Sort(told)
	if diff := cmp.Diff([]string{"0s", "44m0s", "55m0s"}, told); diff != "" {
		t.Errorf("told (-want +got):\n%s", diff)
	}
	if e.left() != 0 || testutil.ToFloat64(e.metrics.eventBacklog) != 0 || testutil.ToFloat64(e.metrics.events.WithLabelValues("late")) != 1 {
		t.Errorf("%d wait, the gauge says %v", e.left(), testutil.ToFloat64(e.metrics.eventBacklog))
	}
}

func TestReporterIsShort(t *testing.T) {
	e, err := newEmitter(&rest.Config{}, Options{Identity: strings.Repeat("p", 250), EventQPS: 50, Log: zap.NewNop(), Now: time.Now}, newMetrics(prometheus.NewRegistry()))
	if err != nil {
		t.Fatal(err)
	}
	defer e.queue.ShutDown()
	if len(e.identity) != 128 {
		t.Errorf("the reporter's name is %d long: the API server would refuse every event", len(e.identity))
	}
}
