package plan

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"stoic/schema"
	"stoic/training"
)

// A failed pod that is to be replaced is first recorded in the ledger, and only deleted once the ledger is written. It is
// counted once, even if the process crashes between two writes:
//
//	the ledger           the pod                       action
//	does not name it     has failed                    record it, count it
//	names it             still exists                  delete it, when it is old enough
//	names it             is deleted, no successor yet  create the successor, annotated with the number of failures
//	names it             has a successor               remove the entry with the next write of the ledger

// onRecord reports whether the pod of a replica is in the new ledger.
func (d *draft) onRecord(r *replica) bool {
	failure, ok := d.ledger.Failed[r.inLedger()]
	return ok && failure.Pod == r.pod.UID
}

func (r *replica) inLedger() string { return r.replicaType.Replica(r.index) }

// note records failed pods that are to be replaced, as many as the ledger can hold. The others wait: successors that are
// created make room in the ledger, and their events cause a reconcile.
func (d *draft) note() {
	kept := d.standing()
	total, fresh := training.Count(d.ledger.Restarts), false
	disruptions := training.Count(d.ledger.Disruptions)
	var first *training.FailedPod
	for i := range d.replicas {
		r := &d.replicas[i]
		if failureActionOf(r) == replaced && !d.onRecord(r) && len(kept) < training.MaxLedger {
			first = earlier(first, r.pod.FailureOf(r.replicaType.Container))
			kept[r.inLedger()] = training.Failure{Pod: r.pod.UID, ConsecutiveFailures: d.consecutiveFailuresOf(r.pod)}
			total, fresh = training.Count(total+restartsOf(r.pod)), true
			if r.pod.Disrupted {
				disruptions = training.Count(disruptions + 1)
			}
		}
	}
	if !fresh {
		return
	}
	d.ledger = training.Ledger{Job: d.Head.Meta.UID, Restarts: total, Disruptions: disruptions, Failed: kept, Succeeded: d.ledger.Succeeded, LastFailure: first}
	ledger := d.ledger
	d.plan.Ledger = &ledger
	d.count(CountRestarted)
}

// stillNoted is how long after its end a job's terminal condition is written to the ledger if pods are missing.
const stillNoted = 10 * time.Minute

// noteTerminal also writes the terminal condition to the ledger: before the pods that proved it are deleted, while another
// client deletes them, or, for stillNoted after the end, when pods are missing, as this process may have started later. A
// job whose pods stay, or were deleted long ago, costs no such write.
func (d *draft) noteTerminal() {
	isPod := func(deletion Deletion) bool { return deletion.Resource == schema.Pods() }
	isGoing := func(p training.Pod) bool { return p.Deleting }
	isMissing := func(r replica) bool { return r.pod == nil }
	end := d.status.CompletionTime
	fresh := end != nil && d.Now.Sub(end.Time) < stillNoted
	if d.losesPodsFirst() || d.ledger.Terminal != "" || !slices.ContainsFunc(d.plan.Delete, isPod) && !slices.ContainsFunc(d.Pods, isGoing) &&
		!(fresh && slices.ContainsFunc(d.replicas, isMissing)) {
		return
	}
	last := d.ledger.LastFailure
	if terminal(&d.status) == training.Failed {
		last = cmp.Or(d.failure, d.firstFailureBefore(end), last)
	}
	d.ledger = training.Ledger{Job: d.Head.Meta.UID, Restarts: training.Count(d.ledger.Restarts),
		Disruptions: training.Count(d.ledger.Disruptions), Terminal: terminal(&d.status), At: d.status.CompletionTime.DeepCopy(), LastFailure: last}
	ledger := d.ledger
	d.plan.Ledger = &ledger
}

// standing returns a copy of the entries that are still needed: the failed pod still exists, or its successor is to be
// created. A replica that has succeeded since then gets no successor.
func (d *draft) standing() map[string]training.Failure {
	kept := make(map[string]training.Failure, len(d.ledger.Failed))
	for i := range d.Pods { // orphans, too
		name := strings.TrimPrefix(d.Pods[i].Name, d.Head.Meta.Name+"-")
		if failure, ok := d.ledger.Failed[name]; ok && failure.Pod == d.Pods[i].UID {
			kept[name] = failure
		}
	}
	for i := range d.replicas {
		name := d.replicas[i].inLedger()
		if failure, ok := d.ledger.Failed[name]; ok && d.replicas[i].pod == nil && !d.replicas[i].recorded {
			kept[name] = failure
		}
	}
	return kept
}

// restartsOf returns the restarts that a failed pod counts for: its replacement, unless it was disrupted, plus the kubelet's
// restarts in it, whose count is lost with the pod.
func restartsOf(pod *training.Pod) int64 {
	restarts := training.Count(pod.Restarts)
	if !pod.Disrupted {
		restarts++
	}
	return restarts
}

func (d *draft) consecutiveFailuresOf(pod *training.Pod) int64 {
	if d.Now.Sub(pod.Created) >= consecutiveEnds {
		return 1
	}
	return training.Count(training.Count(pod.ConsecutiveFailures) + 1)
}
