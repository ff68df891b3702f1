package controller

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/zap"

	"stoic/controller/consistency"
	"stoic/schema"
	"stoic/test/faults/apimodel"
	"stoic/training"
	"stoic/training/kinds"
	"stoic/training/operator"
)

// newTestController makes a controller of TFJobs against s; change may change its options.
func newTestController(t testing.TB, s *apiServer, change func(*Options)) *Controller {
	t.Helper()
	o := Options{Name: operator.Name, Config: s.Config(), Workers: 2, EventQPS: 50,
		Identity: "me", Log: zap.NewNop(), Registry: prometheus.NewRegistry(), Now: time.Now}
	if change != nil {
		change(&o)
	}
	if o.Watches == nil {
		o.Watches = jobs(&o, kinds.TFJob())
	}
	c, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// jobs returns the watches of kinds of jobs: the largest user of the engine represents all.
func jobs(o *Options, kinds ...*training.Kind) []Watch {
	return operator.Watches(kinds, operator.NewMetrics(o.Registry))
}

// versionOf returns the version that the cache of a resource that jobs own has reached.
func (c *Controller) versionOf(r schema.Resource) string {
	for _, d := range c.dependents {
		if d.Resource == r {
			return d.Version()
		}
	}
	return ""
}

// apply carries out a plan for an object of which nothing else was seen.
func (r *watcher) apply(t *testing.T, head *schema.Head, plan schema.Plan) (time.Duration, error) {
	t.Helper()
	return r.applier.Apply(t.Context(), &schema.Observed{Head: head, Now: r.options.Now()}, plan)
}

// seen notes that this process has verified that its caches show the present of an object, so that Apply sends no request to the API
// server before it writes.
func (r *watcher) seen(head *schema.Head) *schema.Head {
	r.store.SetVerified(head.Meta.UID)
	return head
}

// emitting sends what the controller emits, for tests that do not run it, and returns the messages of all that was emitted.
func emitting(t *testing.T, s *apiServer, c *Controller) (messages func() []string) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { c.emitter.Run(ctx) })
	t.Cleanup(func() {
		cancel()
		running.Wait()
	})
	return func() []string {
		c.emitter.Drain(t.Context(), patient)
		return s.events()
	}
}

// start runs a controller until the test ends, or until stop is called, which returns what Run returned.
func start(t testing.TB, c *Controller) (stop func() error) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- c.Run(ctx) }()
	over := false
	stop = func() error {
		if over {
			return nil
		}
		over = true
		cancel()
		select {
		case err := <-ended:
			return err
		case <-time.After(patient):
			t.Error("the controller does not stop")
			return nil
		}
	}
	t.Cleanup(func() { _ = stop() })
	return stop
}

// patient is the limit for what only a busy machine delays: thousands of objects under the race detector.
const patient = 2 * time.Minute

// eventually waits until a condition holds.
func eventually(t testing.TB, what string, holds func() bool) {
	t.Helper()
	for deadline := time.Now().Add(patient); time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) {
		if holds() {
			return
		}
	}
	t.Fatalf("waited in vain for %s", what)
}

// shows reports whether the cache of pods has reached the stored version of a pod.
func (c *Controller) shows(s *apiServer, pod string) bool {
	var version string
	s.locked(func() { version, _ = apimodel.Get(s.At(podsPath+pod), "metadata", "resourceVersion").(string) })
	return consistency.Reached(c.versionOf(schema.Pods()), version)
}

// letShow lets the watch of pods go on, and waits until the cache shows a pod or the test ends. A plan calls it, so it fails no test.
func (c *Controller) letShow(t *testing.T, s *apiServer, pod string) {
	s.locked(func() { s.held["pods"] = false })
	for t.Context().Err() == nil && !c.shows(s, pod) {
		time.Sleep(time.Millisecond)
	}
}

// idle reports whether no reconcile runs.
func (r *watcher) idle() bool {
	idle := true
	r.running.Range(func(any, any) bool { idle = false; return false })
	return idle
}

// caughtUp waits until the caches show all that is stored. What a watch reports before it is held is known then; what is created at the
// same time may be reported later.
func caughtUp(t testing.TB, s *apiServer, c *Controller) {
	t.Helper()
	eventually(t, "the caches to show all that is stored", func() bool {
		newest := map[string]string{}
		s.locked(func() {
			for _, resource := range []string{"tfjobs", "pods", "services"} {
				for _, o := range s.Objects(resource) {
					newest[resource] = consistency.Newer(newest[resource], apimodel.Get(o, "metadata", "resourceVersion").(string))
				}
			}
		})
		return consistency.Reached(c.watchers[0].objects.Version(), newest["tfjobs"]) && consistency.Reached(c.versionOf(schema.Pods()), newest["pods"]) &&
			consistency.Reached(c.versionOf(schema.Services()), newest["services"]) && c.watchers[0].queue.Len() == 0 && c.watchers[0].idle()
	})
}

// job returns a TFJob with workers; policy is its runPolicy in JSON.
func job(name string, workers int, policy string) map[string]any {
	var o map[string]any
	text := fmt.Sprintf(`{"apiVersion":"kubeflow.org/v1","kind":"TFJob","metadata":{"name":%q,"namespace":"ns"},
		"spec":{"runPolicy":%s,"tfReplicaSpecs":{"Worker":{"replicas":%d,"template":{"spec":{"containers":[{"name":"tensorflow","image":"i"}]}}}}}}`,
		name, policy, workers)
	if err := json.Unmarshal([]byte(text), &o); err != nil {
		panic(err)
	}
	return o
}

// put stores a job as its user would.
func (s *apiServer) put(o map[string]any) {
	s.locked(func() { s.store(jobsPath+o["metadata"].(map[string]any)["name"].(string), o) })
}

// head reads a stored job.
func (s *apiServer) head(name string) (status training.Status) {
	s.locked(func() {
		var o struct{ Status training.Status }
		text, _ := json.Marshal(s.At(jobsPath + name))
		_ = json.Unmarshal(text, &o)
		status = o.Status
	})
	return status
}

// phase changes the phase of a stored pod.
func (s *apiServer) phase(pod, phase string) {
	s.locked(func() {
		path := "/api/v1/namespaces/ns/pods/" + pod
		o := maps.Clone(s.At(path))
		o["status"] = map[string]any{"phase": phase}
		s.store(path, o)
	})
}

// counted returns the sum of the samples of a metric.
func counted(t *testing.T, c *Controller, name string) (sum float64) {
	t.Helper()
	registry, ok := c.options.Registry.(*prometheus.Registry)
	if !ok {
		t.Fatalf("the registry is a %T", c.options.Registry)
	}
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		for _, m := range f.GetMetric() {
			if f.GetName() == name {
				sum += m.GetCounter().GetValue() + m.GetGauge().GetValue()
			}
		}
	}
	return sum
}
