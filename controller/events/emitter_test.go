package events

import (
	"context"
	"errors"
	"fmt"
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
	"k8s.io/apimachinery/pkg/runtime"
	runtimeschema "k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

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

// patient is the limit for what only a busy machine delays.
const patient = 2 * time.Minute

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
	first.Drain(context.Background(), patient)
	second.Emit(headOf("a"), []schema.Event{a, b}) // another process, after a restart
	second.Drain(context.Background(), patient)
	second.Emit(headOf(strings.Repeat("n", 253)), []schema.Event{a})
	second.Drain(context.Background(), patient)
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
		e.Drain(context.Background(), patient)
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
	e.Drain(context.Background(), patient)
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
