package plan

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"stoic/training"
)

// conclude gives the job its terminal condition. The children are cleaned up in the same reconcile, after the status is
// written; if that fails, nothing is deleted. A later reconcile, which reads the terminal condition, applies the TTL.
func (d *draft) conclude(t training.ConditionType, reason, message string, counter Counter) {
	d.concludeAs(t, d.Head.Kind.Reason(reason), message, counter)
}

// concludeAs is conclude with the complete reason, to which the kind's name is not added.
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
	if ttl := d.Job.Policy.TTL; ttl.Set && !d.isBeingDeleted() {
		d.requeue(d.until(end, ttl))
	}
}

// completed returns the completion time of a batch/v1 Job, but no time before the start time of its owner, which a
// resumption resets, and no time in the future.
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

// finished handles a job with a terminal condition. It is final, whatever happens to the children, and nothing is created
// any more. Each reconcile repairs the rest of the status, because earlier operators left parts of it out and a status can
// be edited.
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

// over handles a job whose status has lost its terminal condition. The ledger has it; otherwise a completion time shows that
// there was one, and the pods decide which. A finished job never starts again.
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

// ended reports whether a terminal condition is recorded, in the status or in the ledger.
func (d *draft) ended() bool { return terminal(&d.status) != "" || d.ledger.Terminal != "" }

// restore sets a lost terminal condition again. It is not counted again.
func (d *draft) restore(t training.ConditionType, at *metav1.Time) {
	if at == nil {
		at = &d.now
	}
	d.tally()
	reason, message := training.ReasonSucceeded, d.Job.Sentences().Succeeded
	if t == training.Failed {
		reason, message = training.ReasonFailed, d.lostCause(at)
	}
	d.drop(other(t))
	d.set(t, metav1.ConditionTrue, d.Head.Kind.Reason(reason), message)
	d.status.Condition(t).LastTransitionTime = *at
	d.status.CompletionTime = at.DeepCopy()
}

// lostCause returns the message of a condition Failed that was lost, with the last failure that is on record.
func (d *draft) lostCause(at *metav1.Time) string {
	last := d.ledger.LastFailure
	if last == nil {
		last = d.firstFailureBefore(at)
	}
	if last == nil {
		return d.subject() + " has failed; its status was changed since, and the cause is not on record any more."
	}
	return d.subject() + " has failed; its status was changed since. Its last failure on record: " + last.String() + "."
}

func other(terminal training.ConditionType) training.ConditionType {
	if terminal == training.Succeeded {
		return training.Failed
	}
	return training.Succeeded
}

// deleteAfterTTL deletes the job itself when its TTL has passed, and reports whether it did. A finished job that is
// suspended is kept. The deletion has a resourceVersion precondition: the user may have raised the TTL in the meantime.
func (d *draft) deleteAfterTTL() bool {
	ttl := d.Job.Policy.TTL
	if !ttl.Set || d.Job.Policy.Suspend || d.isBeingDeleted() {
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

// subject returns the kind and the key of the job, as messages begin with them.
func (d *draft) subject() string {
	return d.Head.Kind.Name + " " + d.Head.Key()
}
