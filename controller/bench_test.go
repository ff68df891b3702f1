package controller

import (
	"testing"

	"stoic/training"
)

// BenchmarkReconcile measures a reconcile of a running job of five pods that finds nothing to do, which is what most reconciles do.
func BenchmarkReconcile(b *testing.B) {
	const workers = 5
	s := newAPIServer(b)
	c := newTestController(b, s, nil)
	start(b, c)
	s.put(job("a", workers, `{}`))
	eventually(b, "the pods", func() bool { return len(s.names("pods")) == workers })
	for _, pod := range s.names("pods") {
		s.phase(pod, "Running")
	}
	eventually(b, "all to run", func() bool {
		st := s.head("a")
		return st.Is(training.Running) && st.ReplicaStatuses["Worker"].Active == workers
	})
	caughtUp(b, s, c)
	r := c.watchers[0]
	b.ReportAllocs()
	for b.Loop() {
		requeue, err := r.guarded(b.Context(), "ns/a")
		if err != nil {
			b.Fatal(requeue, err)
		}
	}
}
