package integration

import (
	"testing"

	"stoic/training"
	"stoic/training/kinds"
)

// wideJob: the writes that a job of many replicas needs beside its pods and services, and that none of these is created twice.
// Every change of a count would be a write without statusDebounce (package plan).
func wideJob(t *testing.T, r *rig) {
	// How many statuses there are depends on how slow the machine is: one each for Created, Running and the end, and one every
	// ten seconds while the pods come and go (minDebounce of package plan); eight are a job of 50 seconds. Events are reported once
	// for all children of a reconcile: Created, pods, services, Running, Succeeded, and what is created in later ones.
	const replicas, mostStatuses, mostEvents = 100, 8, 10
	ns := r.namespace(t, "wide")
	r.operator(t, ns)
	r.apply(t, ns, manifest("job", worker("", "replicas: 100")))
	head := r.awaitState(t, ns, "job", training.Succeeded)
	if head.Status.CompletionTime == nil {
		t.Error("no completion time")
	}
	for _, resource := range []string{"pods", "services"} {
		if n := r.written(t, ns, "create", resource); n != replicas {
			t.Errorf("%d requests to create %s, want %d", n, resource, replicas)
		}
	}
	statuses, events := r.written(t, ns, "patch", kinds.TFJob().Plural), len(r.events(t, ns, "job"))
	t.Logf("%d replicas: %d status writes, %d events", replicas, statuses, events)
	if statuses > mostStatuses || events > mostEvents {
		t.Errorf("%d status writes and %d events, want at most %d and %d", statuses, events, mostStatuses, mostEvents)
	}
}
