package controller

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/util/workqueue"

	"stoic/controller/plan"
)

func TestSettle(t *testing.T) {
	transient, forbidden := apierrors.NewInternalError(errors.New("x")), apierrors.NewForbidden(corev1.Resource("pods"), "a", nil)
	invalid := apierrors.NewBadRequest("x")
	for _, c := range []struct {
		wish time.Duration
		err  error
		want time.Duration
	}{
		{time.Hour, nil, time.Hour},
		{0, errBehind, safetyNet},
		{time.Hour, invalid, slowProbe},
		{time.Second, invalid, time.Second},    // a deadline does not wait for a back-off
		{time.Millisecond, invalid, slowProbe}, // the rest of a plan does
		{0, transient, longestTrouble},
		{0, forbidden, slowProbe},
		{20 * time.Second, errors.Join(forbidden, transient), 20 * time.Second},
	} {
		l := newTestController(t, newAPIServer(t), nil).loops[0]
		for range 30 {
			l.failures.When("ns/a")
		}
		spy := &spyQueue{TypedDelayingInterface: l.queue}
		l.queue = spy
		l.settle("ns/a", c.wish, c.err)
		if spy.after != c.want {
			t.Errorf("%v after %v: again in %v, want %v", c.wish, c.err, spy.after, c.want)
		}
		if forgot := l.failures.NumRequeues("ns/a") == 0; forgot != (c.err == nil) {
			t.Errorf("after %v the failures are forgotten: %v", c.err, forgot)
		}
	}
}

// TestProbesSlowDown: what somebody may be about to mend is tried soon, what nobody mends seldom.
func TestProbesSlowDown(t *testing.T) {
	l := newTestController(t, newAPIServer(t), nil).loops[0]
	spy := &spyQueue{TypedDelayingInterface: l.queue}
	l.queue = spy
	sum := time.Duration(0)
	for try := range 20 {
		before := spy.after
		l.settle("ns/a", 0, apierrors.NewBadRequest("x"))
		if spy.after < before || try == 0 && spy.after != firstProbe {
			t.Errorf("try %d in %s, the one before in %s", try, spy.after, before)
		}
		sum += spy.after
	}
	if spy.after != slowProbe || sum < time.Hour/2 {
		t.Errorf("20 tries within %s, the last after %s", sum, spy.after)
	}
}

// spyQueue notes what is added for later.
type spyQueue struct {
	workqueue.TypedDelayingInterface[string]
	after time.Duration
}

func (q *spyQueue) AddAfter(_ string, d time.Duration) { q.after = d }

// A planner that panics is a fault of one key.
func TestPassThatPanics(t *testing.T) {
	s := newAPIServer(t)
	c := newTestController(t, s, func(o *Options) {
		o.Watched[0].Plan = func(seen plan.Observed) plan.Plan {
			if seen.Head.Meta.Name == "bad" {
				panic("oh")
			}
			return plan.Make(seen)
		}
	})
	start(t, c)
	s.put(job("bad", 1, `{}`))
	s.put(job("good", 1, `{}`))
	eventually(t, "the good job's pod", func() bool { return len(s.names("pods")) == 1 })
	eventually(t, "the count of panics", func() bool { return counted(t, c, "training_operator_panics_total") > 0 })
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
	eventually(t, "readiness", func() bool { return get("/readyz") == 200 })
	c.loops[0].running.Store("ns/a", time.Now().Add(-time.Hour))
	if get("/healthz") != 500 {
		t.Error("a pass that hangs is not told")
	}
}

func TestNamespacesAsLabelsAreBounded(t *testing.T) {
	c := newTestController(t, newAPIServer(t), nil)
	head := someHead()
	for i := range mostNamespaces + 50 {
		head.Meta.Namespace = fmt.Sprint("ns-", i)
		c.metrics.count(head, plan.Count{Counter: plan.CountCreated})
	}
	head.Meta.Namespace = "ns-0"
	if got := c.metrics.namespace(head); got != "ns-0" {
		t.Errorf("the first namespace has become %s", got)
	}
	if got := counted(t, c, "training_operator_jobs_created_total"); got != mostNamespaces+50 {
		t.Errorf("%v counted", got)
	}
}
