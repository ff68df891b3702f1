package plan

import (
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TestForegroundDeletionCostsFewWrites: garbage collection deletes a hundred running pods of an old job, and they end one by one
// within thirty seconds. That costs one status write when they are being deleted and one in ten seconds while they vanish.
func TestForegroundDeletionCostsFewWrites(t *testing.T) {
	const replicas = 100
	w := newCluster()
	number := replicas
	w.ReplicaTypes = map[string]replicaTypeKnobs{"Worker": {Replicas: &number}}
	w.step(t)
	for _, p := range w.pods {
		p.Phase = corev1.PodRunning
	}
	w.step(t)
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
