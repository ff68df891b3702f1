package plan

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"stoic/training"
)

// conclude gives the job its terminal condition. The children are cleaned up in the same reconcile, behind the status: if
// that cannot be written, nothing is deleted. The TTL is left to a later reconcile, which finds the terminal condition on
// record.
func (d *draft) conclude(t training.ConditionType, reason, message string, counter Counter) {
	d.concludeAs(t, d.Head.Kind.Reason(reason), message, counter)
}

// concludeAs does so with a reason that may not carry the kind's name.
func (d *draft) concludeAs(t training.ConditionType, reason, message string, counter Counter) {
	d.tally()
	d.still(t == training.Succeeded)
	d.stop()
	d.drop(other(t))
	d.set(t, metav1.ConditionTrue, reason, message)
	end := d.now
	if job := d.batchJob(); t == training.Succeeded && job != nil {
		end = d.completed(job)
	}
	d.status.CompletionTime = end.DeepCopy()
	d.measure(counter, end.Time, d.status.StartTime)
	d.clean()
	d.rest()
	if ttl := d.Job.Policy.TTL; ttl.Set {
		d.requeue(d.until(end, ttl))
	}
}

// completed is the completion time of a batch/v1 Job, within bounds: not before the start time of its owner, which a resumption sets
// again, and not in the future.
func (d *draft) completed(job *training.BatchJob) metav1.Time {
	at := job.Completed
	switch {
	case at == nil || d.now.Before(at):
		return d.now
	case d.status.StartTime != nil && at.Before(d.status.StartTime):
		return *d.status.StartTime
	}
	return *at
}

func (d *draft) fail(message string) {
	d.conclude(training.Failed, training.ReasonFailed, message, CountFailed)
}

// finished: a terminal condition is final, whatever becomes of the children, and nothing is created any more. What the
// terminal condition brings with it is put right in every reconcile, as earlier operators left some of it out and a status
// can be edited.
func finished(d *draft) bool {
	t := terminal(&d.status)
	if t == "" {
		return false
	}
	d.create()
	d.still(t == training.Succeeded)
	d.stop()
	d.drop(other(t))
	if d.status.CompletionTime == nil {
		d.status.CompletionTime = d.status.Condition(t).LastTransitionTime.DeepCopy()
	}
	if !d.deleteAfterTTL() {
		d.clean()
		d.rest()
	}
	return true
}

// over: the job has had a terminal condition that its status does not hold any more. The ledger knows it, or else an end that is on
// record says that there was one, and the pods say which. What is over never begins again.
func over(d *draft) bool {
	switch {
	case d.ledger.Terminal == training.Succeeded:
		d.restore(training.Succeeded, d.ledger.At)
	case d.ledger.Terminal == training.Failed:
		d.restore(training.Failed, d.ledger.At)
	case d.status.CompletionTime == nil:
		return false
	case d.succeededByRule():
		d.restore(training.Succeeded, d.status.CompletionTime)
	default:
		d.restore(training.Failed, d.status.CompletionTime)
	}
	return finished(d)
}

// ended: there is a terminal condition on record, in the status or beside it.
func (d *draft) ended() bool { return terminal(&d.status) != "" || d.ledger.Terminal != "" }

// restore puts a terminal condition back where it was. It is not counted again.
func (d *draft) restore(t training.ConditionType, at *metav1.Time) {
	if at == nil {
		at = &d.now
	}
	d.tally()
	reason, message := training.ReasonSucceeded, d.Job.Sentences().Succeeded
	if t == training.Failed {
		reason, message = training.ReasonFailed, d.subject()+" has failed; its status was changed since, and the cause is not on record any more."
	}
	d.drop(other(t))
	d.set(t, metav1.ConditionTrue, d.Head.Kind.Reason(reason), message)
	d.status.Condition(t).LastTransitionTime = *at
	d.status.CompletionTime = at.DeepCopy()
}

func other(terminal training.ConditionType) training.ConditionType {
	if terminal == training.Succeeded {
		return training.Failed
	}
	return training.Succeeded
}

// deleteAfterTTL deletes the job itself when its time is up and returns whether it did. A finished job that is
// suspended is kept. The deletion names the resourceVersion: the author may have raised the time to live in the meantime.
func (d *draft) deleteAfterTTL() bool {
	ttl := d.Job.Policy.TTL
	if !ttl.Set || d.Job.Policy.Suspend {
		return false
	}
	if !d.past(*d.status.CompletionTime, ttl) {
		d.requeue(d.until(*d.status.CompletionTime, ttl))
		return false
	}
	d.plan.Delete = append(d.plan.Delete, Deletion{Resource: d.Head.Kind.Resource(), Namespace: d.Head.Meta.Namespace, Name: d.Head.Meta.Name,
		UID: d.Head.Meta.UID, ResourceVersion: d.Head.Meta.ResourceVersion})
	d.count(CountDeleted)
	return true
}

// subject is how the sentences about a job begin.
func (d *draft) subject() string {
	return d.Head.Kind.Name + " " + d.Head.Key()
}
