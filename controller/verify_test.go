package controller

import (
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"stoic/training"
)

// TestStaleStart: a process that has just begun is shown a past in which the job was not suspended yet. It creates no pods for it, and
// reads the job itself once. Found by the fault rig's time machine.
func TestStaleStart(t *testing.T) {
	s := newAPIServer(t)
	running := job("a", 2, `{}`)
	running["status"] = map[string]any{"startTime": "2026-01-01T00:00:00Z", "observedGeneration": 1, "replicaStatuses": map[string]any{"Worker": map[string]any{"selector": selectorOfWorkers("a")}},
		"conditions": []any{map[string]any{"type": "Created", "status": "True", "reason": "TFJobCreated", "message": "TFJob a is created.",
			"lastUpdateTime": "2026-01-01T00:00:00Z", "lastTransitionTime": "2026-01-01T00:00:00Z"}}}
	s.put(running)
	var once sync.Once
	s.afterwards = func(verb, resource, name string) {
		if verb != "GET" || resource != "tfjobs" || name != "" {
			return
		}
		once.Do(func() { // the list is made up, and on its way
			suspended := job("a", 2, `{"suspend":true}`)
			s.locked(func() {
				s.held["tfjobs"] = true
				suspended["status"] = running["status"]
				meta := suspended["metadata"].(map[string]any)
				meta["uid"] = s.At(jobsPath + "a")["metadata"].(map[string]any)["uid"]
				s.store(jobsPath+"a", suspended)
			})
		})
	}
	start(t, newTestController(t, s, nil))
	eventually(t, "the job to be looked at", func() bool { return s.count("GET tfjobs a") > 0 })
	s.locked(func() { s.held["tfjobs"] = false })
	eventually(t, "the job to be suspended", func() bool {
		status := s.head("a")
		return slices.ContainsFunc(status.Conditions, func(c training.Condition) bool {
			return c.Type == training.Suspended && c.Status == metav1.ConditionTrue
		})
	})
	if n := s.count("POST pods"); n != 0 {
		t.Errorf("%d pods were created for a suspended job", n)
	}
	if n := s.count("GET tfjobs a"); n != 1 {
		t.Errorf("looked at the job %d times, want once", n)
	}
}

// TestStalePods: the job is shown as it is, its pods as they were. A pod that has succeeded since is not deleted as one that still runs.
func TestStalePods(t *testing.T) {
	s := newAPIServer(t)
	s.put(job("a", 1, `{"cleanPodPolicy":"Running"}`))
	first := newTestController(t, s, nil)
	stop := start(t, first)
	eventually(t, "the pod", func() bool { return len(s.names("pods")) == 1 })
	s.phase("a-worker-0", "Running")
	eventually(t, "the job to run", func() bool {
		status := s.head("a")
		return slices.ContainsFunc(status.Conditions, func(c training.Condition) bool { return c.Type == training.Running })
	})
	if err := stop(); err != nil {
		t.Fatal(err)
	}
	var once sync.Once
	s.afterwards = func(verb, resource, name string) {
		if verb != "GET" || resource != "pods" || name != "" {
			return
		}
		once.Do(func() { // the list is made up, and on its way
			s.locked(func() { s.held["pods"] = true })
			s.phase("a-worker-0", "Succeeded")
			s.locked(func() {
				o := maps.Clone(s.At(jobsPath + "a"))
				o["status"] = map[string]any{"startTime": "2026-01-01T00:00:00Z", "completionTime": "2026-01-01T00:00:09Z", "observedGeneration": 1,
					"replicaStatuses": map[string]any{"Worker": map[string]any{"succeeded": 1}},
					"conditions": []any{map[string]any{"type": "Succeeded", "status": "True", "reason": "TFJobSucceeded", "message": "TFJob ns/a successfully completed.",
						"lastUpdateTime": "2026-01-01T00:00:09Z", "lastTransitionTime": "2026-01-01T00:00:09Z"}}}
				s.store(jobsPath+"a", o)
			})
		})
	}
	c := newTestController(t, s, nil)
	start(t, c)
	eventually(t, "a look at the API server", func() bool { return counted(t, c, "training_operator_live_reads_total") > 0 })
	c.watchers[0].enqueueAll() // with caches that still show the past
	eventually(t, "another reconcile", func() bool { return c.watchers[0].queue.Len() == 0 })
	s.locked(func() { s.held["pods"] = false })
	eventually(t, "the queue to be empty", func() bool { return c.watchers[0].queue.Len() == 0 })
	if n := s.count("DELETE pods"); n != 0 {
		t.Errorf("%d pods were deleted, want none: it has succeeded", n)
	}
}

// TestDeletedIsNotThere: an immediate deletion has no version to wait for. A cache that still shows the object is behind: nothing is
// deleted twice, and a pod is not created without its service. Found by the fault rig (G4).
func TestDeletedIsNotThere(t *testing.T) {
	s := newAPIServer(t)
	s.put(job("a", 1, `{}`))
	c := newTestController(t, s, nil)
	start(t, c)
	eventually(t, "the children", func() bool { return len(s.names("pods")) == 1 && len(s.names("services")) == 1 })
	s.phase("a-worker-0", "Running")
	caughtUp(t, s, c)
	s.locked(func() { s.held["services"] = true })
	spec := func(suspend bool) {
		s.locked(func() {
			o := maps.Clone(s.At(jobsPath + "a"))
			o["spec"] = job("a", 1, map[bool]string{true: `{"suspend":true}`, false: `{}`}[suspend])["spec"]
			s.store(jobsPath+"a", o)
		})
	}
	spec(true)
	eventually(t, "nothing", func() bool { return len(s.names("pods"))+len(s.names("services")) == 0 })
	made := s.count("POST pods")
	spec(false)
	c.watchers[0].enqueueAll()
	time.Sleep(300 * time.Millisecond) // nothing may happen, which is no condition to wait for
	if n := s.count("POST pods"); n != made {
		t.Errorf("a pod is made while it is not known that its service is gone")
	}
	s.locked(func() { s.held["services"] = false })
	eventually(t, "the children of the resumed job", func() bool { return len(s.names("pods")) == 1 && len(s.names("services")) == 1 })
	if n := s.count("DELETE services"); n != 1 {
		t.Errorf("the service was deleted %d times", n)
	}
}

// TestNeverShown: a pod is created and fails while the watch of pods is silent. It is read from the API server and deleted. The caches
// never show it, nor its deletion: its successor is nevertheless created. Found by the fault rig (G5).
func TestNeverShown(t *testing.T) {
	s := newAPIServer(t)
	o := job("a", 1, `{}`)
	o["spec"].(map[string]any)["tfReplicaSpecs"].(map[string]any)["Worker"].(map[string]any)["restartPolicy"] = "ExitCode"
	s.locked(func() { s.held["pods"] = true })
	s.put(o)
	now := newClock()
	c := newTestController(t, s, func(o *Options) { o.Now = now.now })
	start(t, c)
	eventually(t, "the pod", func() bool { return len(s.names("pods")) == 1 })
	s.fails("a-worker-0", 137)
	later := func(holds func() bool) func() bool { // the caches are behind for too long, and the replica's pause ends
		return func() bool { now.pass(20 * time.Millisecond); return holds() }
	}
	eventually(t, "the end of the failed pod", later(func() bool { return s.count("DELETE pods") == 1 }))
	eventually(t, "its successor", later(func() bool { return s.count("POST pods") == 2 }))
}

// clock is a clock that a test sets forward; it also runs by itself.
type clock struct{ ahead atomic.Int64 }

func newClock() *clock { return &clock{} }

func (c *clock) now() time.Time       { return time.Now().Add(time.Duration(c.ahead.Load())) }
func (c *clock) pass(d time.Duration) { c.ahead.Add(int64(d)) }

// fails ends a pod with an exit code.
func (s *apiServer) fails(pod string, code int) {
	s.locked(func() {
		path := "/api/v1/namespaces/ns/pods/" + pod
		o := maps.Clone(s.At(path))
		o["status"] = map[string]any{"phase": "Failed", "containerStatuses": []any{map[string]any{"name": "tensorflow",
			"state": map[string]any{"terminated": map[string]any{"exitCode": code}}}}}
		s.store(path, o)
	})
}

// selectorOfWorkers returns what the status of a TFJob has as the selector of its workers.
func selectorOfWorkers(job string) string {
	return training.LabelJob + "=" + job + "," + training.LabelOperator + "=tfjob-controller," + training.LabelReplicaType + "=worker"
}
