package plan

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"pgregory.net/rapid"

	"stoic/training"
)

// anyLedger draws a ledger that a user who may edit the job could have written, and even ones that cannot be read.
func anyLedger(t *rapid.T, w *cluster) training.Ledger {
	numbers := rapid.SampledFrom([]int64{0, 1, 3, -1, training.MaxCount, math.MaxInt64, math.MinInt64})
	uids := []types.UID{"", "x"}
	for _, name := range slices.Sorted(maps.Keys(w.pods)) {
		uids = append(uids, w.pods[name].UID)
	}
	l := training.Ledger{Job: w.meta.UID, Restarts: numbers.Draw(t, "total"), Disruptions: numbers.Draw(t, "disruptions"), Failed: map[string]training.Failure{}}
	for range rapid.IntRange(0, 3).Draw(t, "failures") {
		replica := rapid.SampledFrom([]string{"", "-", "worker-0", "worker-1", "ps-0", "worker-9"}).Draw(t, "replica")
		l.Failed[replica] = training.Failure{Pod: rapid.SampledFrom(uids).Draw(t, "pod"), ConsecutiveFailures: numbers.Draw(t, "row")}
	}
	for range rapid.IntRange(0, 2).Draw(t, "successes") {
		if l.Succeeded == nil {
			l.Succeeded = map[string]training.Indices{}
		}
		label := rapid.SampledFrom([]string{"worker", "ps", "chief", "master", "boss"}).Draw(t, "succeeded")
		l.Succeeded[label] = training.ParseIndices(rapid.SampledFrom([]string{"0", "1", "0-2", "1,9", "0-19999"}).Draw(t, "indices"))
	}
	if rapid.IntRange(0, 3).Draw(t, "over") == 0 {
		l.Terminal = rapid.SampledFrom([]training.ConditionType{training.Succeeded, training.Failed}).Draw(t, "terminal")
	}
	return l
}

// crash sometimes executes only the first writes of a plan, and reports whether it did.
func (w *cluster) crash(t *rapid.T, p Plan) bool {
	after := rapid.IntRange(0, 9).Draw(t, "crash after")
	switch after {
	case 0:
		p = Plan{}
	case 1:
		p = Plan{Status: p.Status}
	case 2:
		p = Plan{Status: p.Status, Ledger: p.Ledger}
	case 3:
		p.Create = nil
	default:
		return false
	}
	if err := w.apply(p); err != nil {
		t.Fatal(err)
	}
	return true
}

// TestLimitHolds: however a replica fails, and whatever happens to the status, the pods and the operator meanwhile, no more
// pods are created than the limit allows, and the last failure fails the job.
func TestLimitHolds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		limit, two := rapid.Int64Range(0, 4).Draw(t, "limit"), 2
		policy := rapid.SampledFrom([]string{"Always", "OnFailure", "ExitCode"}).Draw(t, "policy")
		w := newCluster()
		w.aging = true
		w.Backoff, w.ReplicaTypes = &limit, map[string]replicaTypeKnobs{"PS": {}, "Worker": {Replicas: &two, Restart: policy}}
		w.Clean = rapid.SampledFrom([]string{"Running", "None"}).Draw(t, "clean")
		failures := int64(0)
		for round := 0; w.status.Terminal() == ""; round++ {
			if round > 200 {
				t.Fatalf("no end: %+v, %+v", w.status, w.ledger)
			}
			w.settle()
			w.slow, w.prune = rapid.Bool().Draw(t, "slow"), rapid.Bool().Draw(t, "prune")
			if p := Make(w.observe()); !w.crash(t, p) {
				if err := w.apply(p); err != nil {
					t.Fatal(err)
				}
			}
			if w.ledger.Restarts > limit {
				t.Fatalf("%d restarts on record after %d failures, the limit is %d", w.ledger.Restarts, failures, limit)
			}
			w.now = w.now.Add(rapid.SampledFrom([]time.Duration{time.Second, time.Minute, 5 * time.Minute}).Draw(t, "pause"))
			if rapid.IntRange(0, 3).Draw(t, "wipe") == 0 && w.status.Terminal() == "" {
				w.status = training.Status{}
			}
			for _, name := range slices.Sorted(maps.Keys(w.pods)) {
				if p := w.pods[name]; p.Phase == corev1.PodPending && !p.Deleting && strings.HasPrefix(name, "j-worker-") && rapid.Bool().Draw(t, "fails") {
					p.Phase = corev1.PodFailed
					if p.Disrupted = rapid.IntRange(0, 3).Draw(t, "disrupted") == 0; !p.Disrupted {
						failures++
					}
				}
			}
		}
		if w.status.Terminal() != training.Failed || failures <= limit || failures > limit+2 {
			t.Fatalf("%s after %d failures, the limit is %d", w.status.Terminal(), failures, limit)
		}
	})
}

// TestLedgerHasRoom: replicas that have succeeded after a failure take no room in the ledger when their pods are deleted, so
// that the failure of another replica is still recorded and its pod replaced.
func TestLedgerHasRoom(t *testing.T) {
	w, n := newCluster(), training.MaxLedger+1
	w.aging, w.SuccessPolicy = true, "AllWorkers"
	w.ReplicaTypes = map[string]replicaTypeKnobs{"Worker": {Replicas: &n, Restart: "OnFailure"}}
	pod := func(i int) *training.Pod { return w.pods[fmt.Sprintf("j-worker-%d", i)] }
	reconcile := func() {
		t.Helper()
		for range 3 {
			w.settle()
			w.step(t)
			w.now = w.now.Add(time.Minute)
		}
	}
	reconcile()
	pod(n - 1).Phase = corev1.PodRunning
	for _, phase := range []corev1.PodPhase{corev1.PodRunning, corev1.PodFailed, corev1.PodRunning, corev1.PodSucceeded} {
		for i := range n - 1 {
			pod(i).Phase = phase
		}
		reconcile()
	}
	if len(w.ledger.Failed) != training.MaxLedger {
		t.Fatalf("%d failures are on record, want %d", len(w.ledger.Failed), training.MaxLedger)
	}
	for i := range n - 1 { // their nodes are scaled down
		delete(w.pods, fmt.Sprintf("j-worker-%d", i))
	}
	reconcile()
	failed := pod(n - 1).UID
	pod(n - 1).Phase = corev1.PodFailed
	for range 3 {
		reconcile()
	}
	if p := pod(n - 1); p == nil || p.UID == failed {
		t.Errorf("the failed pod is not replaced; %d failures are on record", len(w.ledger.Failed))
	}
}
