package controller

import (
	"fmt"
	"net/http"
	"sync/atomic"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"stoic/test/faults/apimodel/server"
)

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
