package controller

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/workqueue"

	"stoic/controller/apply"
	"stoic/controller/events"
	"stoic/schema"
	"stoic/test/faults/apimodel/server"
	"stoic/training/kinds"
	"stoic/training/plan"
)

func TestRequeue(t *testing.T) {
	transient, forbidden := apierrors.NewInternalError(errors.New("x")), apierrors.NewForbidden(corev1.Resource("pods"), "a", nil)
	invalid := apierrors.NewBadRequest("x")
	for _, c := range []struct {
		wish time.Duration
		err  error
		want time.Duration
	}{
		{time.Hour, nil, 10 * time.Minute}, // the clock may be set to another time meanwhile; examples/operators/crontab/README.md says the number
		{10 * time.Minute, nil, 10 * time.Minute},
		{9 * time.Minute, nil, 9 * time.Minute},
		{0, apply.ErrBehind, apply.RequeueFallback},
		{time.Hour, invalid, apply.LastRefused},
		{time.Second, invalid, time.Second},            // a deadline does not wait for a back-off
		{time.Millisecond, invalid, apply.LastRefused}, // the rest of a plan does
		{0, transient, 8 * time.Second},
		{0, forbidden, apply.LastRefused},
		{20 * time.Second, errors.Join(forbidden, transient), 20 * time.Second},
	} {
		l := newTestController(t, newAPIServer(t), nil).watchers[0]
		for range 30 {
			l.failures.When("ns/a")
		}
		spy := &spyQueue{TypedDelayingInterface: l.queue}
		l.queue = spy
		l.requeue("ns/a", c.wish, c.err)
		if spy.after != c.want {
			t.Errorf("%v after %v: again in %v, want %v", c.wish, c.err, spy.after, c.want)
		}
		if forgot := l.failures.NumRequeues("ns/a") == 0; forgot != (c.err == nil) {
			t.Errorf("after %v the failures are forgotten: %v", c.err, forgot)
		}
	}
}

// spyQueue notes what is added for later.
type spyQueue struct {
	workqueue.TypedDelayingInterface[string]
	after time.Duration
}

func (q *spyQueue) AddAfter(_ string, d time.Duration) { q.after = d }

// TestReconcileThatPanics: a planner that panics, or a generator that does while children are created in parallel, affects one key only.
// Each is counted and logged with its stack.
func TestReconcileThatPanics(t *testing.T) {
	for name, bad := range map[string]func() Plan{
		"a planner": func() Plan { panic("oh") },
		"a generator": func() Plan {
			return Plan{Create: []schema.Object{{Resource: schema.Pods(), Namespace: "ns", Name: "p", Body: []byte(`{"metadata":{"name":"p"}}`), Generate: "oh"}}}
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newAPIServer(t)
			core, logged := observer.New(zap.ErrorLevel)
			c := newTestController(t, s, func(o *Options) {
				o.Log = zap.New(core)
				o.Watches = jobs(o, kinds.TFJob())
				w := &o.Watches[0]
				w.Owns = slices.Clone(w.Owns)
				pods := slices.IndexFunc(w.Owns, func(owned *Owned) bool { return owned.Resource == schema.Pods() })
				owned := *w.Owns[pods]
				owned.Generators = map[string]Generator{"oh": func() (map[string]any, error) { panic("oh") }}
				w.Owns[pods] = &owned
				w.Decide = func(seen Observed) Plan {
					if seen.Head.Meta.Name == "bad" {
						return bad()
					}
					return plan.Decide(seen)
				}
			})
			start(t, c)
			s.put(job("bad", 1, `{}`))
			s.put(job("good", 1, `{}`))
			server.Await(t, "the good job's pod", func() bool { return slices.Contains(s.names("pods"), "good-worker-0") })
			server.Await(t, "the count of panics", func() bool { return counted(t, c, "training_operator_panics_total") > 0 })
			entries := logged.FilterMessage("a reconcile panicked").AllUntimed()
			if len(entries) == 0 || entries[0].ContextMap()["object"] != "ns/bad" || entries[0].ContextMap()["panic"] != "oh" ||
				!strings.Contains(entries[0].ContextMap()["stack"].(string), "loop_test.go") {
				t.Errorf("logged: %v", entries)
			}
		})
	}
}

// TestContradiction: nothing of an impossible plan is done, and its object gets an event. Either of two children of one name would win,
// and a child of a resource that is not owned would be created forever.
func TestContradiction(t *testing.T) {
	pod := schema.Object{Resource: schema.Pods(), Namespace: "ns", Name: "p", Body: []byte(`{"metadata":{"name":"p"}}`)}
	other := pod
	other.Name = "q"
	foreign := schema.Object{Resource: schema.Secrets(), Namespace: "ns", Name: "s", Body: []byte(`{"metadata":{"name":"s"}}`)}
	for want, create := range map[string][]schema.Object{
		"Pod p is to be created twice": {pod, other, pod},
		"Secret s is to be created, and secrets of v1 are not among what the operator owns": {foreign},
	} {
		s := newAPIServer(t)
		start(t, newTestController(t, s, func(o *Options) {
			o.Watches = jobs(o, kinds.TFJob())
			o.Watches[0].Decide = func(Observed) Plan { return Plan{Create: create} }
		}))
		s.put(job("a", 1, `{}`))
		server.Await(t, "an event: "+want, func() bool {
			return slices.ContainsFunc(s.events(), func(m string) bool { return m == "nothing is done, by a defect of the operator: "+want })
		})
		if n := s.count("POST pods") + s.count("POST secrets"); n > 0 {
			t.Errorf("%s: %d objects are created", want, n)
		}
	}
}

// TestCountThatPanics: a Count that panics disturbs neither the writes of a plan nor the goroutine that sends events.
func TestCountThatPanics(t *testing.T) {
	s := newAPIServer(t)
	full := s.fullQuota()
	var asked sync.Map
	c := newTestController(t, s, func(o *Options) {
		o.Watches = jobs(o, kinds.TFJob())
		o.Watches[0].Count = func(_ *schema.Head, counted schema.Count) {
			asked.Store(counted.Counter, true)
			panic("oh")
		}
	})
	start(t, c)
	s.put(job("a", 1, `{}`))
	for _, counter := range []string{string(plan.CountCreated), schema.CountRefused} { // of a status and of an event
		server.Await(t, "the call for "+counter, func() bool { _, is := asked.Load(counter); return is })
	}
	server.Await(t, "both panics", func() bool { return counted(t, c, "training_operator_panics_total") >= 2 })
	full.Store(false)
	server.Await(t, "the pod", func() bool { return slices.Contains(s.names("pods"), "a-worker-0") })
	server.Await(t, "no event that waits", func() bool { return counted(t, c, "training_operator_events_backlog") == 0 })
}

func TestHealth(t *testing.T) {
	s := newAPIServer(t)
	c := newTestController(t, s, nil)
	get := func(path string) int {
		w := httptest.NewRecorder()
		c.HealthHandler().ServeHTTP(w, httptest.NewRequest(http.MethodGet, path, http.NoBody))
		return w.Code
	}
	if got := fmt.Sprint(get("/healthz"), get("/readyz"), get("/")); got != "200 503 404" {
		t.Errorf("before the start: %s", got)
	}
	start(t, c)
	server.Await(t, "readiness", func() bool { return get("/readyz") == 200 })
	c.watchers[0].running.Store("ns/a", time.Now().Add(-time.Hour))
	if get("/healthz") != 500 {
		t.Error("a reconcile that hangs is not reported")
	}
}

// TestOptions: New returns an error for options that cannot work.
func TestOptions(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*Options)
		want   string
	}{
		"sound":       {func(*Options) {}, ""},
		"a dot":       {func(o *Options) { o.Name = "foo.example.com" }, `Name: found "foo.example.com", must be lower-case letters, digits and -, and begin with a letter: metrics and events carry it`},
		"no config":   {func(o *Options) { o.Config = nil }, "Config is nil, must say where the API server is"},
		"no log":      {func(o *Options) { o.Log = nil }, "Log is nil, must be a logger, such as zap.NewNop()"},
		"no registry": {func(o *Options) { o.Registry = nil }, "Registry is nil, must be one of Prometheus"},
		"no clock":    {func(o *Options) { o.Now = nil }, "Now is nil, must be a clock, such as time.Now"},
		"no worker":   {func(o *Options) { o.Workers = 0 }, "Workers: found 0, must be 1 or more"},
		"no events":   {func(o *Options) { o.EventQPS = 0 }, "EventQPS: found 0, must be the number of events per second, or negative for no limit"},
		"no identity": {func(o *Options) { o.Identity = "" }, "Identity: not found, must be the name of the pod, or another that no other process has"},
		"no watch":    {func(o *Options) { o.Watches = nil }, "no resource to watch"},
		"a watch":     {func(o *Options) { o.Watches[0].Decide = nil }, "the watch of tfjobs: Decide is nil, must be a function"},
	} {
		o := Options{Name: "training-operator", Config: &rest.Config{Host: "http://127.0.0.1:1"}, Workers: 1, EventQPS: 1, Identity: "me", Log: zap.NewNop(),
			Registry: prometheus.NewRegistry(), Now: time.Now}
		o.Watches = jobs(&o, kinds.TFJob())
		c.change(&o)
		got := ""
		if _, err := New(o); err != nil {
			got = err.Error()
		}
		if got != c.want {
			t.Errorf("%s: %s\nwant %s", name, got, c.want)
		}
	}
}

// TestRequeueForEvents: a reconcile whose events found no room is requeued for them, and nothing else waits for that.
func TestRequeueForEvents(t *testing.T) {
	s := newAPIServer(t)
	c := newTestController(t, s, nil)
	l := c.watchers[0]
	flood := make([]schema.Event, 0, 32) // as much as may wait; all share one text, which is counted each time
	text := strings.Repeat("x", 10<<20)
	for i := range cap(flood) {
		flood = append(flood, schema.Event{Type: "Normal", Reason: "Flood", Message: text, Occasion: fmt.Sprint(i)})
	}
	c.emitter.Emit(resultOf("other", "1").Head, flood)
	derived := []schema.Event{{Type: "Warning", Reason: "A", Message: "first", Since: time.Now()}, {Type: "Warning", Reason: "A", Message: "second", Since: time.Now()}}
	reconcile := func(requeue time.Duration) time.Duration {
		again, err := l.apply(t, someHead(), schema.Plan{Events: derived, Requeue: requeue})
		if err != nil {
			t.Fatal(err)
		}
		return again
	}
	for requeue, want := range map[time.Duration]time.Duration{0: events.RequeueForEvents, time.Hour: events.RequeueForEvents, time.Second: time.Second} {
		if got := reconcile(requeue); got != want {
			t.Errorf("a plan that is to be looked at again in %s is so in %s, want %s", requeue, got, want)
		}
	}
	messages := emitting(t, s, c)
	if sent := messages(); len(sent) != len(flood) {
		t.Fatalf("%d events were sent, want %d", len(sent), len(flood))
	}
	if got := reconcile(0); got != 0 {
		t.Errorf("once there is room: requeued after %s", got)
	}
	if sent := messages(); !slices.Contains(sent, "first") || !slices.Contains(sent, "second") {
		t.Errorf("%d events were sent, and not both of the reconcile that was requeued", len(sent))
	}
}
