package controller

import (
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/runtime"

	"stoic/test/faults/apimodel"
)

// TestGarbageIsNotRecreated: a job is deleted and another of its name is created while the watch of jobs is silent, and the garbage
// collector deletes the children. They are not created again for an owner that is gone: those would be garbage as well, and so on for as
// long as the watch lags. Found by the fault rig (G4): thirty pods in thirteen seconds.
func TestGarbageIsNotRecreated(t *testing.T) {
	for name, next := range map[string]func(*apiServer){
		"recreated": func(s *apiServer) {
			o := job("a", 1, `{}`)
			s.drop(jobsPath + "a")
			s.store(jobsPath+"a", o)
		},
		"gone":    func(s *apiServer) { s.drop(jobsPath + "a") },
		"changed": func(s *apiServer) { s.store(jobsPath+"a", finishing(runtime.DeepCopyJSON(s.At(jobsPath+"a")))) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newAPIServer(t)
			s.put(job("a", 1, `{}`))
			c := newTestController(t, s, nil)
			start(t, c)
			eventually(t, "the children", func() bool { return len(s.names("pods")) == 1 && len(s.names("services")) == 1 })
			caughtUp(t, s, c)
			s.locked(func() {
				s.held["tfjobs"] = true
				next(s)
			})
			made := s.count("POST pods")
			before := c.reconciles(t)
			began := time.Now()
			for range 5 { // as often as the garbage collector comes by
				collect(s)
				c.watchers[0].enqueueAll()
				time.Sleep(100 * time.Millisecond) // nothing may happen, which is no condition to wait for
			}
			if n := s.count("POST pods") - made; n > 0 {
				t.Errorf("%d pods were made for a job that is %s", n, name)
			}
			eventually(t, "a look at the job", func() bool { return s.count("GET tfjobs a") > 0 })
			looks := s.count("GET tfjobs a")
			// A run of the collector, and what it changes, cause some reconciles. A hot loop has thousands.
			reconciles, most := c.reconciles(t)-before, 20+int(time.Since(began)/(20*time.Millisecond))
			if looks > reconciles || reconciles > most {
				t.Errorf("looked at the job %d times in %d reconciles, want at most one in each and %d reconciles", looks, reconciles, most)
			}
			s.locked(func() { s.held["tfjobs"] = false })
			if name == "recreated" {
				eventually(t, "the children of the next job", func() bool { return len(s.names("pods")) == 1 && len(s.names("services")) == 1 })
			}
		})
	}
}

// finishing returns a job whose foreground deletion has begun.
func finishing(o map[string]any) map[string]any {
	meta := o["metadata"].(map[string]any)
	meta["deletionTimestamp"], meta["finalizers"] = "2026-01-01T00:00:00Z", []any{"foregroundDeletion"}
	return o
}

// collect deletes all children.
func collect(s *apiServer) {
	s.locked(func() {
		for _, resource := range []string{"pods", "services"} {
			for _, o := range s.Objects(resource) {
				s.drop("/api/v1/namespaces/ns/" + resource + "/" + apimodel.Get(o, "metadata", "name").(string))
			}
		}
	})
}

// TestSuccessorIsCreatedAfterOneLook: a pod that another client deletes is created again, at the cost of one GET of its job.
func TestSuccessorIsCreatedAfterOneLook(t *testing.T) {
	s := newAPIServer(t)
	s.put(job("a", 2, `{}`))
	c := newTestController(t, s, nil)
	start(t, c)
	eventually(t, "the children", func() bool { return len(s.names("pods")) == 2 && len(s.names("services")) == 2 })
	looked := s.count("GET tfjobs a")
	for n := range 3 {
		before := s.count("POST pods")
		s.locked(func() { s.drop("/api/v1/namespaces/ns/pods/a-worker-1") })
		eventually(t, "the successor", func() bool { return s.count("POST pods") == before+1 && len(s.names("pods")) == 2 })
		if got := s.count("GET tfjobs a") - looked; got > n+1 {
			t.Errorf("looked at the job %d times for %d lost pods", got, n+1)
		}
	}
}
