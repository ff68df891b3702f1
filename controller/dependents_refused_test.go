package controller

import (
	"math"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"stoic/controller/apply"
	"stoic/schema"
	"stoic/training"
	"stoic/training/kinds"
)

// refusingAutoscalers returns an API server that refuses the first creations of autoscalers as invalid, and counts all.
func refusingAutoscalers(t *testing.T, first int32) (s *apiServer, tries *atomic.Int32) {
	t.Helper()
	s, tries = newAPIServer(t), &atomic.Int32{}
	s.serve("autoscaling/v2", "horizontalpodautoscalers")
	s.refuse = func(verb, resource, _ string) *refusing {
		if verb == http.MethodPost && resource == "horizontalpodautoscalers" && tries.Add(1) <= first {
			return &refusing{http.StatusUnprocessableEntity, metav1.StatusReasonInvalid, "no"}
		}
		return nil
	}
	return s, tries
}

// autoscalerOf returns a plan that creates one autoscaler.
func autoscalerOf() schema.Plan {
	return schema.Plan{Create: []schema.Object{{Resource: training.Autoscalers(), Namespace: "ns", Name: "a", Body: []byte(`{"metadata":{"name":"a"}}`)}}}
}

// TestRefusedDependent: a refused autoscaler costs one request in a while, whatever else happens to the job, until the job is changed.
func TestRefusedDependent(t *testing.T) {
	s, _ := refusingAutoscalers(t, math.MaxInt32)
	now := time.Now()
	l := newTestController(t, s, func(o *Options) {
		o.Watches = jobs(o, kinds.PyTorchJob())
		o.Now = func() time.Time { return now }
	}).watchers[0]
	head := someHead()
	for i, step := range []struct {
		change func()
		want   int
		again  time.Duration // where nothing was sent
	}{
		{func() {}, 1, 0},
		{func() {}, 1, apply.FirstRefused},
		{func() { now = now.Add(apply.FirstRefused / 2) }, 1, apply.FirstRefused / 2},
		{func() { now = now.Add(apply.FirstRefused / 2) }, 2, 0},
		{func() { now = now.Add(apply.FirstRefused) }, 2, apply.FirstRefused},
		{func() { now = now.Add(apply.FirstRefused) }, 3, 0},
		{func() { head.Meta.Generation++ }, 4, 0},
		{func() { now = now.Add(apply.FirstRefused) }, 5, 0},
		{func() { l.forget(head.Meta.UID) }, 6, 0},
		{func() { now = now.Add(apply.LastRefused) }, 7, 0},
		{func() { now = now.Add(apply.LastRefused) }, 8, 0},
		{func() { now = now.Add(apply.LastRefused) }, 9, 0},
		{func() { now = now.Add(apply.LastRefused) }, 10, 0},
		{func() { now = now.Add(apply.LastRefused) }, 11, 0},
		{func() { now = now.Add(apply.LastRefused - time.Second) }, 11, time.Second},
		{func() { now = now.Add(time.Second) }, 12, 0},
	} {
		step.change()
		before := s.count("POST horizontalpodautoscalers")
		again, err := l.apply(t, l.seen(head), autoscalerOf())
		if got := s.count("POST horizontalpodautoscalers"); got != step.want || again != step.again || (err != nil) != (step.want > before) {
			t.Errorf("step %d: %d requests, want %d; again in %s, want %s; error %v", i, got, step.want, again, step.again, err)
		}
	}
}

// TestRefusedDependentIsTriedAgain: the job runs well without its autoscaler, and nothing happens to it. The autoscaler is nevertheless
// created when it is accepted. Found by the fault rig (G6).
func TestRefusedDependentIsTriedAgain(t *testing.T) {
	s, tries := refusingAutoscalers(t, 2)
	now := newClock()
	l := newTestController(t, s, func(o *Options) { o.Watches, o.Now = jobs(o, kinds.PyTorchJob()), now.now }).watchers[0]
	head := l.seen(someHead())
	for try := range 3 {
		_, err := l.apply(t, head, autoscalerOf())
		if (err == nil) != (try == 2) {
			t.Errorf("try %d: %v", try, err)
		}
		if try < 2 {
			again, err := l.apply(t, head, autoscalerOf())
			if err != nil || again <= 0 || again > apply.FirstRefused<<try {
				t.Fatalf("after try %d, by an event: requeued after %s: %v", try, again, err)
			}
			now.pass(again)
		}
	}
	if n := tries.Load(); n != 3 {
		t.Errorf("%d requests, want 3", n)
	}
}
