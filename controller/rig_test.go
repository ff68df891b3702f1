package controller

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/zap"
	"k8s.io/client-go/rest"

	"stoic/schema"
)

// newTestController makes a controller of TFJobs against s; change may change its options.
func newTestController(t *testing.T, s *apiServer, change func(*Options)) *Controller {
	t.Helper()
	o := Options{Config: &rest.Config{Host: s.URL, QPS: -1, ContentConfig: rest.ContentConfig{ContentType: "application/json"}}, Watched: Jobs([]*schema.Kind{schema.TFJob()}), Workers: 2, EventQPS: 50,
		Identity: "me", Log: zap.NewNop(), Registry: prometheus.NewRegistry(), Now: time.Now}
	if change != nil {
		change(&o)
	}
	c, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// start runs a controller until the test ends, or until stop is called, which returns what Run returned.
func start(t *testing.T, c *Controller) (stop func() error) {
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
		case <-time.After(20 * time.Second):
			t.Error("the controller does not stop")
			return nil
		}
	}
	t.Cleanup(func() { _ = stop() })
	return stop
}

// eventually waits until a condition holds.
func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for deadline := time.Now().Add(10 * time.Second); time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) {
		if holds() {
			return
		}
	}
	t.Fatalf("waited in vain for %s", what)
}

// caughtUp waits until the caches show all that is stored. What a watch tells before it is held is known then; what is made
// at the same time may be told later.
func caughtUp(t *testing.T, s *apiServer, c *Controller) {
	t.Helper()
	eventually(t, "the caches to show all that is stored", func() bool {
		newest := map[string]string{}
		s.locked(func() {
			for path, o := range s.objects {
				segments := strings.Split(path, "/")
				resource := segments[len(segments)-2]
				newest[resource] = newer(newest[resource], o["metadata"].(map[string]any)["resourceVersion"].(string))
			}
		})
		return reached(c.loops[0].version(), newest["tfjobs"]) && reached(c.children.podVersion(), newest["pods"]) &&
			reached(c.children.serviceVersion(), newest["services"]) && c.loops[0].queue.Len() == 0
	})
}

// job is a TFJob with workers; policy is its runPolicy in JSON.
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

// put stores a job as its author would.
func (s *apiServer) put(o map[string]any) {
	s.locked(func() { s.store(jobsPath+o["metadata"].(map[string]any)["name"].(string), o) })
}

// head reads a stored job.
func (s *apiServer) head(name string) (status schema.Status) {
	s.locked(func() {
		var o struct{ Status schema.Status }
		text, _ := json.Marshal(s.objects[jobsPath+name])
		_ = json.Unmarshal(text, &o)
		status = o.Status
	})
	return status
}

// phase changes the phase of a stored pod.
func (s *apiServer) phase(pod, phase string) {
	s.locked(func() {
		path := "/api/v1/namespaces/ns/pods/" + pod
		o := map[string]any{}
		for k, v := range s.objects[path] {
			o[k] = v
		}
		o["status"] = map[string]any{"phase": phase}
		s.store(path, o)
	})
}

// counted is the sum of the samples of a metric.
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
