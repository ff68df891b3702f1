package controller

import (
	"fmt"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"stoic/schema"
	"stoic/test/faults/apimodel/server"
	"stoic/training/kinds"
)

// TestAuthorLearnsOfRefusals: Decide gets what the API server refused to create, with the first answer of its kind, until it is created.
// The user gets one event about it, which counts once.
func TestAuthorLearnsOfRefusals(t *testing.T) {
	s := newAPIServer(t)
	full := s.fullQuota()
	var mu sync.Mutex
	var seen [][]schema.Refusal
	var counts []schema.Count
	c := newTestController(t, s, func(o *Options) {
		o.Watches = jobs(o, kinds.TFJob())
		decide := o.Watches[0].Decide
		o.Watches[0].Decide = func(observed schema.Observed) schema.Plan {
			mu.Lock()
			defer mu.Unlock()
			seen = append(seen, observed.Refused)
			return decide(observed)
		}
		o.Watches[0].Count = func(head *schema.Head, c schema.Count) {
			mu.Lock()
			defer mu.Unlock()
			if c.Counter == schema.CountRefused && head.Meta.Name == "a" {
				counts = append(counts, c)
			}
		}
	})
	start(t, c)
	began := time.Now()
	s.put(job("a", 1, `{}`))
	last := func() []schema.Refusal {
		mu.Lock()
		defer mu.Unlock()
		if len(seen) == 0 {
			return nil
		}
		return seen[len(seen)-1]
	}
	server.Await(t, "a decision on the refusal", func() bool { return len(last()) == 1 })
	first := last()[0]
	if first.Resource != schema.Pods() || first.Namespace != "ns" || first.Name != "a-worker-0" || first.Cause != schema.CauseQuota ||
		first.Reason != metav1.StatusReasonForbidden || first.Code != http.StatusForbidden || first.Since.Before(began) || first.Since.After(time.Now()) || first.Message == "" {
		t.Errorf("%+v", first)
	}
	mu.Lock()
	before := len(seen)
	mu.Unlock()
	server.Await(t, "further tries", func() bool {
		mu.Lock()
		defer mu.Unlock()
		return len(seen) > before+2
	})
	if again := last(); len(again) != 1 || !again[0].Since.Equal(first.Since) {
		t.Errorf("refused again: %+v, first %+v", again, first)
	}
	full.Store(false)
	server.Await(t, "the pod", func() bool { return slices.Contains(s.names("pods"), "a-worker-0") })
	server.Await(t, "a decision without a refusal", func() bool { return len(last()) == 0 })
	mu.Lock()
	defer mu.Unlock()
	if len(counts) != 1 || counts[0].Reason != string(schema.CauseQuota) {
		t.Errorf("counted %+v", counts)
	}
}

// fullQuota makes the server refuse pods while it is true.
func (s *apiServer) fullQuota() *atomic.Bool {
	full := &atomic.Bool{}
	full.Store(true)
	s.refuse = func(verb, resource, _ string) *refusing {
		if verb == http.MethodPost && resource == "pods" && full.Load() {
			return &refusing{http.StatusForbidden, metav1.StatusReasonForbidden, `pods "a-worker-0" is forbidden: exceeded quota: small`}
		}
		return nil
	}
	return full
}

// TestSmallJobIsMadeAtOnce: all objects of a job of five replicas are requested before the first answer arrives.
func TestSmallJobIsMadeAtOnce(t *testing.T) {
	s := newAPIServer(t)
	const objects = 10
	var asked atomic.Int32
	all := make(chan struct{})
	s.refuse = func(verb, resource, _ string) *refusing {
		if verb == http.MethodPost && (resource == "pods" || resource == "services") {
			if asked.Add(1) == objects {
				close(all)
			}
			select {
			case <-all:
			case <-t.Context().Done():
			}
		}
		return nil
	}
	s.put(job("a", objects/2, `{}`))
	start(t, newTestController(t, s, nil))
	server.Await(t, "all objects to be asked for before any is there", func() bool { return asked.Load() == objects })
}

// terminate makes the API server refuse creations as it does in a namespace that is being deleted. asked returns how many it has received
// since.
func (s *apiServer) terminate() (asked func() int) {
	posts := func() int { return s.count("POST pods") + s.count("POST services") }
	before := posts()
	s.Locked(func() { s.Close("ns") })
	return func() int { return posts() - before }
}

// TestNamespaceTerminates: each child that is deleted queues the job, and each reconcile would create all missing ones. One refused
// creation is enough for the whole deletion, whatever the size of the job.
func TestNamespaceTerminates(t *testing.T) {
	for _, workers := range []int{5, 200} {
		t.Run(fmt.Sprint(workers), func(t *testing.T) {
			s := newAPIServer(t)
			c := newTestController(t, s, nil)
			start(t, c)
			s.put(job("a", workers, `{}`))
			for have := 0; have < 2*workers; { // a thousand take their time
				server.Await(t, "more children", func() bool {
					had := have
					have = len(s.names("pods")) + len(s.names("services"))
					return have > had
				})
			}
			caughtUp(t, s, c)
			asked := s.terminate()
			for i, pod := range s.names("pods") {
				s.Locked(func() { s.Drop("/api/v1/namespaces/ns/pods/" + pod) })
				if i < 20 || i%100 == 0 { // a reconcile for each of these, at least
					caughtUp(t, s, c)
				}
			}
			server.Await(t, "a refused creation", func() bool { return asked() > 0 })
			caughtUp(t, s, c)
			c.watchers[0].enqueueAll()
			caughtUp(t, s, c)
			if n := asked(); n != 1 {
				t.Errorf("%d creations were asked for in a namespace that is being deleted, want 1", n)
			}
			var uid any
			s.Locked(func() {
				uid = s.At(jobsPath + "a")["metadata"].(map[string]any)["uid"]
				s.Drop(jobsPath + "a")
			})
			l := c.watchers[0]
			server.Await(t, "nothing to be remembered of the job", func() bool { return l.objects.Get("ns/a") == nil && l.store.Len() == 0 && l.queue.Len() == 0 })
			s.Locked(func() { s.Open("ns") })
			next := job("a", 1, `{}`)
			next["metadata"].(map[string]any)["uid"] = uid // no other object has it: it stands for the memory of the one that is gone
			s.put(next)
			server.Await(t, "the pod of the next job", func() bool { return len(s.names("pods")) == 1 })
		})
	}
}
