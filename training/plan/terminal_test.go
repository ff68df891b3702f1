package plan

import (
	"testing"

	corev1 "k8s.io/api/core/v1"

	"stoic/training"
)

// TestTerminalConditionIsNotedWhenPodsGo: pods of a finished job that stay cost no write. When another client deletes them, the
// terminal condition is written to the ledger, so that a wiped status can be restored later. Found by the fault rig (G14).
func TestTerminalConditionIsNotedWhenPodsGo(t *testing.T) {
	w := newCluster()
	w.ReplicaTypes, w.Clean = map[string]replicaTypeKnobs{"Worker": {}}, "None"
	reconcile := func() Plan {
		w.settle()
		p := Make(w.observe())
		if err := w.apply(p); err != nil {
			t.Fatal(err)
		}
		return p
	}
	reconcile()
	w.settle()
	w.pods["j-worker-0"].Phase = corev1.PodSucceeded
	reconcile()
	if w.status.Terminal() != training.Succeeded {
		t.Fatalf("the status: %+v", w.status)
	}
	if p := reconcile(); p.Ledger != nil {
		t.Errorf("the terminal condition is noted while the pod stays: %+v", p.Ledger)
	}
	w.slow = true // the pod is seen to go
	w.pods["j-worker-0"].Deleting = true
	if p := Make(w.observe()); p.Ledger == nil || p.Ledger.Terminal != training.Succeeded {
		t.Fatalf("the pod goes, and the ledger: %+v", p.Ledger)
	} else if err := w.apply(p); err != nil {
		t.Fatal(err)
	}
	if p := Make(w.observe()); p.Ledger != nil {
		t.Errorf("noted again: %+v", p.Ledger)
	}
	delete(w.pods, "j-worker-0")
	w.status = training.Status{}
	if p := Make(w.observe()); p.Status == nil || p.Status.Terminal() != training.Succeeded || len(p.Create) > 0 {
		t.Errorf("the status was wiped: %+v, creates %d", p.Status, len(p.Create))
	}
}

// TestTerminalConditionIsNotedAfterPodsWent: the pods were deleted while no operator ran. The next one writes the terminal
// condition of a recently ended job to the ledger; jobs that ended long ago cost no write. Found by the fault rig (G14).
func TestTerminalConditionIsNotedAfterPodsWent(t *testing.T) {
	w := newCluster()
	w.ReplicaTypes, w.Clean = map[string]replicaTypeKnobs{"Worker": {}}, "None"
	for range 2 {
		w.settle()
		if err := w.apply(Make(w.observe())); err != nil {
			t.Fatal(err)
		}
		w.settle()
		w.pods["j-worker-0"].Phase = corev1.PodSucceeded
	}
	if w.status.Terminal() != training.Succeeded {
		t.Fatalf("the status: %+v", w.status)
	}
	delete(w.pods, "j-worker-0")
	o := w.observe()
	o.Now = o.Now.Add(stillNoted)
	if p := Make(o); p.Ledger != nil {
		t.Errorf("noted long after the end: %+v", p.Ledger)
	}
	if p := Make(w.observe()); p.Ledger == nil || p.Ledger.Terminal != training.Succeeded {
		t.Fatalf("the pods went, and the ledger: %+v", p.Ledger)
	} else if err := w.apply(p); err != nil {
		t.Fatal(err)
	}
	if p := Make(w.observe()); p.Ledger != nil || len(p.Create) > 0 {
		t.Errorf("after that: %+v, creates %d", p.Ledger, len(p.Create))
	}
}
