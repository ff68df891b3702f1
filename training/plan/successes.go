package plan

import (
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"stoic/training"
)

// The success of a replica is recorded in the ledger, because other clients may delete its pod, for example when a node
// is scaled down. The replica is then done although it has no pod: it counts as succeeded and gets no new pod.
//
//	its pod                                    the record
//	has succeeded, and is not being deleted    is added when it is due: see recordIn
//	is being deleted, or no longer exists      is unchanged: a pod that exits due to its deletion has not succeeded
//	has failed                                 is removed immediately: another client wrote it
//	was scaled in                              is removed immediately
//	(the job is suspended)                     all are removed immediately
//	(the job is over)                          is replaced by the terminal condition

// recall marks the replicas whose success is recorded.
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

// successes returns the replicas whose success must be recorded.
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

// noteSuccesses records changed successes, in a ledger that is written anyway or in a separate write.
func (d *draft) noteSuccesses() {
	if !d.runs || d.losesPodsFirst() {
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

// forgetSuccesses removes all recorded successes.
func (d *draft) forgetSuccesses() {
	if len(d.ledger.Succeeded) > 0 {
		d.enterSuccesses(nil)
	}
}

func (d *draft) enterSuccesses(found map[string]training.Indices) {
	d.ledger.Job, d.ledger.Restarts, d.ledger.Succeeded = d.Head.Meta.UID, training.Count(d.ledger.Restarts), found
	d.ledger.Disruptions = training.Count(d.ledger.Disruptions)
	ledger := d.ledger
	d.plan.Ledger = &ledger
}

// recordAfter is how long after the last write to a job a success is recorded by a separate write. Replicas that start
// together end together, and the terminal condition that follows makes the record unnecessary. An autoscaler removes a
// node only after minutes.
const recordAfter = 30 * time.Second

// recordIn returns how long the record of a success may wait; 0: it is due. A write for each pod that succeeds would
// double the number of writes for a job.
//
//	a ledger is written for another reason                  with it
//	the stored record is no longer correct                  now
//	this process has not written to the job yet             now
//	a pod of the job is being deleted: others may follow    when the last write is failureDebounce old
//	the status waits                                        after the status
//	counts are written, and the stored ones include it      now
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

// countedBefore reports whether the stored status counts a success that the ledger does not contain.
func (d *draft) countedBefore() bool {
	for i := range d.Job.ReplicaTypes {
		rtype := &d.Job.ReplicaTypes[i]
		if int(d.Head.Status.ReplicaStatuses[rtype.Name].Succeeded) > d.ledger.Succeeded[rtype.Label].Count() {
			return true
		}
	}
	return false
}

// goneSuccesses returns how many replicas of a replica type are recorded as succeeded and have no pod.
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
