package plan

import (
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"stoic/training"
)

// A replica that has succeeded is put on record in the ledger on the job, as others may delete its pod: a node that is
// scaled down takes it along. The replica is then done, although it has no pod: it counts as succeeded and gets no other.
//
//	its pod                                    the record
//	has succeeded, and is not being deleted    names it, when that is due: see recordIn
//	is being deleted, or is gone               stays as it is: what stops because it is deleted has not succeeded
//	has failed                                 forgets it, at once: somebody else has written that
//	was scaled in                              forgets it, at once
//	(the job is suspended)                     forgets all, at once
//	(the job is over)                          is replaced by the terminal condition

// recall marks the replicas that are on record.
func (d *draft) recall() {
	known := 0
	for _, indices := range d.ledger.Succeeded {
		known += indices.Count()
	}
	if known == 0 {
		return
	}
	for i := range d.replicas {
		r := &d.replicas[i]
		failed := r.pod != nil && r.pod.Phase == corev1.PodFailed
		if r.recorded = d.ledger.Succeeded[r.replicaType.Label].Has(r.index) && !failed; r.recorded {
			known--
		}
	}
	d.stale = known > 0
}

// successes are the replicas that shall be on record.
func (d *draft) successes() map[string]training.Indices {
	found := map[string]training.Indices{}
	for i := range d.replicas {
		r := &d.replicas[i]
		if r.recorded || r.pod != nil && r.pod.Phase == corev1.PodSucceeded && !r.pod.Deleting {
			found[r.replicaType.Label] = found[r.replicaType.Label].Append(r.index)
		}
	}
	if len(found) == 0 {
		return nil
	}
	return found
}

// noteSuccesses puts on record what is not there yet, in the ledger that is written anyway or in one of its own.
func (d *draft) noteSuccesses() {
	if !d.runs {
		return
	}
	found := d.successes()
	if sameSuccesses(found, d.ledger.Succeeded) {
		return
	}
	if wait := d.recordIn(); d.plan.Ledger == nil && wait > 0 {
		d.requeue(wait)
		return
	}
	d.enterSuccesses(found)
}

// forgetSuccesses takes all of them out of the record.
func (d *draft) forgetSuccesses() {
	if len(d.ledger.Succeeded) > 0 {
		d.enterSuccesses(nil)
	}
}

func (d *draft) enterSuccesses(found map[string]training.Indices) {
	d.ledger.Job, d.ledger.Restarts, d.ledger.Succeeded = d.Head.Meta.UID, training.Count(d.ledger.Restarts), found
	ledger := d.ledger
	d.plan.Ledger = &ledger
}

// recordAfter is how long nothing is written to a job until a success is put on record by a write of its own. Replicas that
// were started together end together, and with the last of them comes the terminal condition, which needs no such record. An autoscaler
// takes a node away only after minutes.
const recordAfter = 30 * time.Second

// recordIn is how long a success may wait to be put on record; 0 says that it is due. A write for each pod that is done
// would double what a job costs.
//
//	a ledger is written for another reason                  with it
//	what is on record is not so any more                    now
//	this process has not written to the job yet             now
//	a pod of the job is being deleted: others may follow    when the last write is failureDebounce old
//	the status waits                                        behind the status
//	counts are written, and it was in those before          now
//	else                                                    when the last write is recordAfter old
func (d *draft) recordIn() time.Duration {
	since := d.Now.Sub(d.WrittenAt)
	switch {
	case d.WrittenAt.IsZero() || since < 0 || d.stale:
		return 0
	case slices.ContainsFunc(d.Pods, func(p training.Pod) bool { return p.Deleting }):
		return max(failureDebounce-since, 0)
	case d.plan.Pending:
		return d.plan.Requeue
	case d.plan.Status == nil:
		return max(recordAfter-since, 0)
	case d.onlyCounts() && d.countedBefore():
		return 0
	}
	return recordAfter
}

// countedBefore: the status on record counts a success that the ledger does not name.
func (d *draft) countedBefore() bool {
	for i := range d.Job.ReplicaTypes {
		rtype := &d.Job.ReplicaTypes[i]
		if int(d.Head.Status.ReplicaStatuses[rtype.Name].Succeeded) > d.ledger.Succeeded[rtype.Label].Count() {
			return true
		}
	}
	return false
}

// goneSuccesses is how many replicas of a replica type are on record and have no pod.
func (d *draft) goneSuccesses(label string) int {
	recorded := d.ledger.Succeeded[label]
	gone := recorded.Count()
	for i := range d.Pods {
		if of, index, is := d.replicaOf(d.Pods[i].Name); is && of == label && recorded.Has(index) {
			gone--
		}
	}
	return gone
}

func sameSuccesses(a, b map[string]training.Indices) bool {
	return maps.EqualFunc(a, b, func(x, y training.Indices) bool { return slices.Equal(x, y) })
}
