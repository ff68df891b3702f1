package plan

import (
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// TestSuccessesWait: a success is recorded without a separate write if possible, and in time in any case.
func TestSuccessesWait(t *testing.T) {
	w := newCluster()
	four := 4
	w.SuccessPolicy, w.ReplicaTypes = "AllWorkers", map[string]replicaTypeKnobs{"Worker": {Replicas: &four}}
	set := func(index int, phase corev1.PodPhase, deleting bool) {
		p := w.pods[fmt.Sprint("j-worker-", index)]
		p.Phase, p.Deleting = phase, deleting
	}
	w.step(t)
	for i := range four {
		set(i, corev1.PodRunning, false)
	}
	w.step(t)
	at := func(after, pending time.Duration) Plan {
		o := w.observe()
		o.WrittenAt, o.Now = w.now, w.now.Add(after)
		if pending > 0 {
			o.PendingSince = o.Now.Add(-pending)
		}
		return Make(o)
	}
	want := func(when string, p Plan, status bool, ledger string, recheck time.Duration) {
		t.Helper()
		got := ""
		if p.Ledger != nil {
			got = p.Ledger.Succeeded["worker"].String()
		}
		if (p.Status != nil) != status || got != ledger || p.Requeue != recheck {
			t.Errorf("%s: status %v, %q on record, recheck in %s, want %v, %q, %s", when, p.Status, got, p.Requeue, status, ledger, recheck)
		}
	}
	set(1, corev1.PodSucceeded, false)
	want("while the status waits", at(time.Second, 0), false, "", minDebounce-time.Second)
	want("when the status does not wait any more", at(minDebounce, settleFor), true, "", recordAfter)
	p := at(minDebounce, settleFor)
	p.Ledger = nil
	if err := w.apply(p); err != nil {
		t.Fatal(err)
	}
	want("when it is in the status", at(minDebounce, 0), false, "", recordAfter-minDebounce)
	want("when nothing else was written for long", at(recordAfter, 0), false, "1", 0)

	set(2, corev1.PodSucceeded, false)
	want("while the next success waits", at(recordAfter, 0), false, "", settleFor)
	want("with the next success", at(minDebounce, settleFor), true, "1-2", 0)
	set(3, corev1.PodRunning, true)
	want("while a pod is going", at(failureDebounce, 0), true, "1-2", 0)
	set(3, corev1.PodRunning, false)

	o := w.observe()
	want("by a process that has written nothing yet", Make(o), true, "1-2", 0)
	o.WrittenAt = o.Now.Add(time.Hour)
	want("by a clock that went back", Make(o), true, "1-2", 0)
}
