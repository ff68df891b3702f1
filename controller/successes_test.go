package controller

import (
	"testing"

	"stoic/training"
)

// TestSuccessOutlivesItsPod: a replica that has succeeded is not started again when its pod is deleted, even if another process ran when
// it succeeded; and that knowledge costs one write.
func TestSuccessOutlivesItsPod(t *testing.T) {
	s := newAPIServer(t)
	o := job("a", 2, `{}`)
	o["spec"].(map[string]any)["successPolicy"] = "AllWorkers"
	s.put(o)
	stop := start(t, newTestController(t, s, nil))
	eventually(t, "the pods", func() bool { return len(s.names("pods")) == 2 })
	for _, pod := range []string{"a-worker-0", "a-worker-1"} {
		s.phase(pod, "Running")
	}
	eventually(t, "the job to run", func() bool { status := s.head("a"); return status.Is(training.Running) })
	s.phase("a-worker-1", "Succeeded")
	if err := stop(); err != nil {
		t.Fatal(err)
	}
	if n := s.count("PATCH tfjobs a"); n != 0 {
		t.Errorf("%d writes for a success just after the job began to run", n)
	}

	c := newTestController(t, s, nil)
	start(t, c)
	eventually(t, "the success to be on record", func() bool { return s.ledger().Succeeded["worker"].String() == "1" })
	s.locked(func() { s.drop("/api/v1/namespaces/ns/pods/a-worker-1") })
	caughtUp(t, s, c)
	s.phase("a-worker-0", "Succeeded")
	eventually(t, "the end", func() bool { status := s.head("a"); return status.Is(training.Succeeded) })
	if got := s.head("a").ReplicaStatuses["Worker"]; got.Succeeded != 2 {
		t.Errorf("counts: %+v, want 2 succeeded", got)
	}
	if n := s.count("POST pods"); n != 2 {
		t.Errorf("%d pods were made, want 2", n)
	}
}
