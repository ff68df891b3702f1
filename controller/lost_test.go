package controller

import (
	"strings"
	"testing"
	"time"
)

// TestGarbageIsNotMadeAnew: a job is deleted and another of its name is made while the watch of jobs tells nothing, and the
// garbage collector takes the children. They are not made again for an owner that is gone: those would be garbage as well, and
// so on for as long as the watch lags, at every death. Found by the fault rig (G4): thirty pods in thirteen seconds.
func TestGarbageIsNotMadeAnew(t *testing.T) {
	for name, next := range map[string]func(*apiServer){
		"made anew": func(s *apiServer) {
			o := job("a", 1, `{}`)
			o["metadata"].(map[string]any)["uid"] = "uid-of-the-next"
			s.store(jobsPath+"a", o)
		},
		"gone":    func(s *apiServer) { s.drop(jobsPath + "a") },
		"changed": func(s *apiServer) { s.store(jobsPath+"a", finishing(s.objects[jobsPath+"a"])) },
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
			for range 5 { // as often as the garbage collector comes by
				collect(s)
				c.loops[0].enqueueAll()
				time.Sleep(100 * time.Millisecond) // nothing may happen, which is no condition to wait for
			}
			if n := s.count("POST pods") - made; n > 0 {
				t.Errorf("%d pods were made for a job that is %s", n, name)
			}
			eventually(t, "a look at the job", func() bool { return s.count("GET tfjobs a") > 0 })
			if n := s.count("GET tfjobs a"); n > 20 {
				t.Errorf("looked at the job %d times, want a few", n)
			}
			s.locked(func() { s.held["tfjobs"] = false })
			if name == "made anew" {
				eventually(t, "the children of the next job", func() bool { return len(s.names("pods")) == 1 && len(s.names("services")) == 1 })
			}
		})
	}
}

// finishing is a job of which somebody has begun a foreground deletion.
func finishing(o map[string]any) map[string]any {
	meta := o["metadata"].(map[string]any)
	meta["deletionTimestamp"], meta["finalizers"] = "2026-01-01T00:00:00Z", []any{"foregroundDeletion"}
	return o
}

// collect takes all children.
func collect(s *apiServer) {
	s.locked(func() {
		for path := range s.objects {
			if strings.Contains(path, "/pods/") || strings.Contains(path, "/services/") {
				s.drop(path)
			}
		}
	})
}

// TestSuccessorIsMadeAfterOneLook: a pod that others delete is made anew, for the price of one look at its job.
func TestSuccessorIsMadeAfterOneLook(t *testing.T) {
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
