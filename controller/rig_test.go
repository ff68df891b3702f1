package controller

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/zap"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"stoic/controller/consistency"
	"stoic/schema"
	"stoic/test/faults/apimodel"
	"stoic/test/faults/apimodel/server"
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
		c.emitter.Drain(t.Context(), server.Patience)
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
		case <-time.After(server.Patience):
			t.Error("the controller does not stop")
			return nil
		}
	}
	t.Cleanup(func() { _ = stop() })
	return stop
}

// shows reports whether the cache of pods has reached the stored version of a pod.
func (c *Controller) shows(s *apiServer, pod string) bool {
	var version string
	s.Locked(func() { version, _ = apimodel.Get(s.At(podsPath+pod), "metadata", "resourceVersion").(string) })
	return consistency.Reached(c.versionOf(schema.Pods()), version)
}

// letShow lets the watch of pods go on, and waits until the cache shows a pod or the test ends. A plan calls it, so it fails no test.
func (c *Controller) letShow(t *testing.T, s *apiServer, pod string) {
	s.Locked(func() { s.Held["pods"] = false })
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
	server.Await(t, "the caches to show all that is stored", func() bool {
		newest := map[string]string{}
		s.Locked(func() {
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
	s.Locked(func() { s.Store(jobsPath+o["metadata"].(map[string]any)["name"].(string), o) })
}

// head reads a stored job.
func (s *apiServer) head(name string) (status training.Status) {
	s.Locked(func() {
		var o struct{ Status training.Status }
		text, _ := json.Marshal(s.At(jobsPath + name))
		_ = json.Unmarshal(text, &o)
		status = o.Status
	})
	return status
}

// phase changes the phase of a stored pod.
func (s *apiServer) phase(pod, phase string) {
	s.Locked(func() {
		path := "/api/v1/namespaces/ns/pods/" + pod
		o := maps.Clone(s.At(path))
		o["status"] = map[string]any{"phase": phase}
		s.Store(path, o)
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

// apiServer is the model of the API server, and the requests that it received. Tests make it fail.
type apiServer struct {
	*server.Server
	seen  []string // requests but for watches, as "POST pods"
	lists []string // what was listed, and from when, as "pods 0"

	refuse     func(verb, resource, name string) *refusing // nil: let it through; once a controller runs it is set under the lock
	prune      func(status map[string]any)                 // what the schema of jobs drops
	afterwards func(verb, resource, name string)           // called without the lock
}

type refusing struct {
	code    int
	reason  metav1.StatusReason
	message string
}

const jobsPath = "/apis/kubeflow.org/v1/namespaces/ns/tfjobs/"

func tfjobs() apimodel.Resource { return server.ResourceOf(kinds.TFJob().Resource(), true) }

func newAPIServer(t testing.TB) *apiServer {
	t.Helper()
	s := &apiServer{Server: server.New(t, tfjobs(),
		server.ResourceOf(schema.Pods(), true), server.ResourceOf(schema.Services(), true),
		apimodel.Resource{Version: "v1", Plural: "events", Kind: "Event", Namespaced: true},
		apimodel.Resource{Group: "coordination.k8s.io", Version: "v1", Plural: "leases", Kind: "Lease", Namespaced: true})}
	s.NoWatchList = true
	s.Before = s.before
	s.After = func(q server.Request) {
		if s.afterwards != nil {
			s.afterwards(q.Method, q.Resource, q.Name)
		}
	}
	s.Admit(func(plural string, o map[string]any) {
		status, _ := o["status"].(map[string]any)
		if plural == "tfjobs" && s.prune != nil && status != nil {
			s.prune(status)
		}
	})
	return s
}

// before notes a request and refuses it if the test says so.
func (s *apiServer) before(q server.Request) *metav1.Status {
	if q.Watch || q.Resource == "" {
		return nil
	}
	var refuse func(verb, resource, name string) *refusing
	s.Locked(func() {
		s.seen = append(s.seen, strings.TrimSpace(q.Method+" "+q.Resource+" "+q.Name))
		if query := q.URL.Query(); q.Method == http.MethodGet && q.Name == "" && !query.Has("fieldSelector") {
			s.lists = append(s.lists, q.Resource+" "+query.Get("resourceVersion"))
		}
		refuse = s.refuse
	})
	if refuse != nil {
		if no := refuse(q.Method, q.Resource, q.Name); no != nil {
			status := server.Refusal(no.code, no.message)
			status.Reason = no.reason
			return status
		}
	}
	return nil
}

// count returns the number of requests that begin with a text.
func (s *apiServer) count(prefix string) (n int) {
	s.Locked(func() {
		for _, r := range s.seen {
			if strings.HasPrefix(r, prefix) {
				n++
			}
		}
	})
	return n
}

// names returns the names of the stored objects of a resource.
func (s *apiServer) names(resource string) (names []string) {
	s.Locked(func() {
		for _, o := range s.Objects(resource) {
			names = append(names, apimodel.Get(o, "metadata", "name").(string))
		}
	})
	slices.Sort(names)
	return names
}
