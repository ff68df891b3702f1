package plan

import (
	"slices"
	"strings"
	"time"

	"stoic/schema"
	"stoic/training"
)

// A failed pod that is to be replaced is put on record when it is seen, in the ledger on the job, and is deleted only
// when it is there. Whatever happens between any two writes, it is counted once:
//
//	the ledger           the pod                  then
//	does not name it     has failed               name it, count it
//	names it             is still there           delete it, when it has stood long enough
//	names it             is gone, no other yet    create its successor, which carries the number of failures before it
//	names it             another is there         forget it, when the ledger is written next

// onRecord says whether the pod of a replica is in the ledger as it shall be.
func (d *draft) onRecord(r *replica) bool {
	failure, ok := d.ledger.Failed[r.inLedger()]
	return ok && failure.Pod == r.pod.UID
}

func (r *replica) inLedger() string { return r.replicaType.Replica(r.index) }

// note puts the failed pods on record that are to be replaced and are not there yet, as many as there is room for. The
// others wait: room is made by pods that come, which is an event.
func (d *draft) note() {
	kept := d.standing()
	total, fresh := training.Count(d.ledger.Restarts), false
	for i := range d.replicas {
		r := &d.replicas[i]
		if failureActionOf(r) == replaced && !d.onRecord(r) && len(kept) < training.MaxLedger {
			kept[r.inLedger()] = training.Failure{Pod: r.pod.UID, ConsecutiveFailures: d.consecutiveFailuresOf(r.pod)}
			total, fresh = training.Count(total+restartsOf(r.pod)), true
		}
	}
	if !fresh {
		return
	}
	d.ledger = training.Ledger{Job: d.Head.Meta.UID, Restarts: total, Failed: kept, Succeeded: d.ledger.Succeeded}
	ledger := d.ledger
	d.plan.Ledger = &ledger
	d.count(CountRestarted)
}

// stillNoted is how long after its end a job's terminal condition is put into the ledger if pods are missing.
const stillNoted = 10 * time.Minute

// noteTerminal puts the terminal condition into the ledger, too, before the pods go that proved it, or when others take them away: while
// they go, or when they have gone since the job ended, unseen by a process that began after that. A job whose pods stay pays
// nothing, nor does one whose pods have gone long ago.
func (d *draft) noteTerminal() {
	isPod := func(deletion Deletion) bool { return deletion.Resource == schema.Pods() }
	isGoing := func(p training.Pod) bool { return p.Deleting }
	isMissing := func(r replica) bool { return r.pod == nil }
	end := d.status.CompletionTime
	fresh := end != nil && d.Now.Sub(end.Time) < stillNoted
	if d.ledger.Terminal != "" || !slices.ContainsFunc(d.plan.Delete, isPod) && !slices.ContainsFunc(d.Pods, isGoing) &&
		!(fresh && slices.ContainsFunc(d.replicas, isMissing)) {
		return
	}
	d.ledger = training.Ledger{Job: d.Head.Meta.UID, Restarts: training.Count(d.ledger.Restarts),
		Terminal: terminal(&d.status), At: d.status.CompletionTime.DeepCopy()}
	ledger := d.ledger
	d.plan.Ledger = &ledger
}

// standing is a copy of the entries that are still of use: the failed pod is still there, or its successor is to be created. A replica
// that has succeeded since gets none.
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

// restartsOf a failed pod: its own, and what its kubelet has restarted in it, of which nothing will be left.
func restartsOf(pod *training.Pod) int64 { return 1 + training.Count(pod.Restarts) }

func (d *draft) consecutiveFailuresOf(pod *training.Pod) int64 {
	if d.Now.Sub(pod.Created) >= consecutiveEnds {
		return 1
	}
	return training.Count(training.Count(pod.ConsecutiveFailures) + 1)
}
