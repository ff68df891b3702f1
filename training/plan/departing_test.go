package plan

import (
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"stoic/schema"
	"stoic/training"
	"stoic/training/kinds/v2beta1"
)

// TestForegroundDeletionCostsFewWrites: garbage collection deletes a hundred running pods of an old job, and they end one by one
// within thirty seconds. That costs one status write when they are being deleted and one in ten seconds while they vanish.
func TestForegroundDeletionCostsFewWrites(t *testing.T) {
	const replicas = 100
	w := newCluster()
	number := replicas
	w.ReplicaTypes = map[string]replicaTypeKnobs{"Worker": {Replicas: &number}}
	execute(t, w)
	for _, p := range w.pods {
		p.Phase = corev1.PodRunning
	}
	execute(t, w)
	written, pending, writes := w.now, time.Time{}, 0
	reconcile := func() {
		o := w.observe()
		o.WrittenAt, o.PendingSince = written, pending
		p := Make(o)
		checkPlan(t, o, p)
		if p.Ledger != nil || len(p.Events)+len(p.Create)+len(p.Delete)+len(p.Patch) > 0 {
			t.Fatalf("at %s: more than a status: %+v", clock(&w.now), p)
		}
		switch {
		case p.Status != nil:
			written, pending = w.now, time.Time{}
			writes++
		case !p.Pending:
			pending = time.Time{}
		case pending.IsZero():
			pending = w.now
		}
		if err := w.apply(p); err != nil {
			t.Fatal(err)
		}
	}
	w.now = w.now.Add(time.Hour)
	w.meta.DeletionTimestamp, w.meta.Finalizers, w.meta.Generation = &metav1.Time{Time: w.now}, []string{metav1.FinalizerDeleteDependents}, 2
	reconcile()
	for _, p := range w.pods {
		p.Deleting = true
		w.now = w.now.Add(10 * time.Millisecond)
		reconcile()
	}
	for i := range replicas {
		for range 3 { // the requeued reconciles, too
			w.now = w.now.Add(100 * time.Millisecond)
			reconcile()
		}
		delete(w.pods, fmt.Sprintf("j-worker-%d", i))
		reconcile()
	}
	for range 20 {
		w.now = w.now.Add(time.Second)
		reconcile()
	}
	if writes != 4 {
		t.Errorf("%d writes of the status, want 4", writes)
	}
	if left := w.status.ReplicaStatuses["Worker"]; left.Active+left.Succeeded+left.Failed != 0 {
		t.Errorf("counts at the end: %+v", left)
	}
}

// execute makes a plan and executes it.
func execute(t *testing.T, w *cluster) {
	t.Helper()
	o := w.observe()
	p := Make(o)
	checkPlan(t, o, p)
	if err := w.apply(p); err != nil {
		t.Fatal(err)
	}
}

// TestDepartingLauncherJob: a batch/v1 Job is neither created nor resumed for a job that is being deleted. When the job is over or
// suspended, its running Job is suspended.
func TestDepartingLauncherJob(t *testing.T) {
	launcher := func(suspended bool) []training.BatchJob {
		return []training.BatchJob{{Child: schema.Child{Namespace: "ns", Name: "j-launcher", UID: "u"}, BatchState: &training.BatchState{Suspended: suspended}}}
	}
	for name, c := range map[string]struct {
		jobs     []training.BatchJob
		suspend  bool
		terminal training.ConditionType
		patches  int
	}{
		"does not exist":                    {jobs: nil},
		"runs":                              {jobs: launcher(false)},
		"is suspended":                      {jobs: launcher(true)},
		"does not exist, the job suspended": {jobs: nil, suspend: true},
		"runs, the job suspended":           {jobs: launcher(false), suspend: true, patches: 1},
		"runs, the job over":                {jobs: launcher(false), terminal: training.Failed, patches: 1},
	} {
		w := newCluster()
		w.become(v2beta1.MPIJob())
		w.ReplicaTypes, w.Suspend, w.Clean = map[string]replicaTypeKnobs{"Launcher": {}, "Worker": {}}, c.suspend, "All"
		w.status = training.Status{StartTime: &metav1.Time{Time: epoch}, Conditions: []training.Condition{{Type: training.Created, Status: "True"}}}
		if c.terminal != "" {
			w.status.Conditions = append(w.status.Conditions, training.Condition{Type: c.terminal, Status: "True"})
		}
		w.meta.DeletionTimestamp = &metav1.Time{Time: w.now}
		o := w.observe()
		o.BatchJobs = c.jobs
		p := Make(o)
		for _, broken := range brokenRules(o, p) {
			t.Errorf("%s: %s", name, broken)
		}
		if len(p.Create) > 0 || len(p.Patch) != c.patches {
			t.Errorf("%s: created %d, updated %d, want 0 and %d", name, len(p.Create), len(p.Patch), c.patches)
		}
	}
}
