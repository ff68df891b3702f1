package plan

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"stoic/schema"
)

// conclude gives the job its verdict. The children are cleaned up in the same pass, behind the status: if
// that cannot be written, nothing is deleted. The TTL is left to a later pass, which finds the verdict on
// record.
func (d *draft) conclude(t schema.ConditionType, reason, message string, counter Counter) {
	d.tally()
	d.still()
	d.stop()
	d.drop(other(t))
	d.set(t, metav1.ConditionTrue, d.Head.Kind.Reason(reason), message)
	d.status.CompletionTime = d.now.DeepCopy()
	d.count(counter)
	d.clean()
	d.keep(nil)
	if ttl := d.Job.Policy.TTL; ttl.Set {
		d.recheck(d.until(d.now, ttl))
	}
}

func (d *draft) fail(message string) {
	d.conclude(schema.Failed, schema.ReasonFailed, message, CountFailed)
}

// finished: a verdict is final, whatever becomes of the children, and nothing is created any more. What the
// verdict brings with it is put right in every pass, as earlier operators left some of it out and a status
// can be edited.
func finished(d *draft) bool {
	t := verdict(&d.status)
	if t == "" {
		return false
	}
	d.create()
	d.still()
	d.stop()
	d.drop(other(t))
	if d.status.CompletionTime == nil {
		d.status.CompletionTime = d.status.Condition(t).LastTransitionTime.DeepCopy()
	}
	if !d.expunge() {
		d.clean()
		d.keep(nil)
	}
	return true
}

// over: the job has had a verdict that its status does not hold any more. The ledger knows it, or else an end that is on
// record says that there was one, and the pods say which. What is over never begins again.
func over(d *draft) bool {
	switch {
	case d.ledger.Verdict == schema.Succeeded:
		d.restore(schema.Succeeded, d.ledger.At)
	case d.ledger.Verdict == schema.Failed:
		d.restore(schema.Failed, d.ledger.At)
	case d.status.CompletionTime == nil:
		return false
	case d.leadDone():
		d.restore(schema.Succeeded, d.status.CompletionTime)
	default:
		d.restore(schema.Failed, d.status.CompletionTime)
	}
	return finished(d)
}

// ended: there is a verdict on record, in the status or beside it.
func (d *draft) ended() bool { return verdict(&d.status) != "" || d.ledger.Verdict != "" }

// restore puts a verdict back where it was. It is not counted again.
func (d *draft) restore(t schema.ConditionType, at *metav1.Time) {
	if at == nil {
		at = &d.now
	}
	d.tally()
	reason, message := schema.ReasonSucceeded, d.subject()+" successfully completed."
	if t == schema.Failed {
		reason, message = schema.ReasonFailed, d.subject()+" has failed; its status was changed since, and the cause is not on record any more."
	}
	d.drop(other(t))
	d.set(t, metav1.ConditionTrue, d.Head.Kind.Reason(reason), message)
	d.status.Condition(t).LastTransitionTime = *at
	d.status.CompletionTime = at.DeepCopy()
}

func other(verdict schema.ConditionType) schema.ConditionType {
	if verdict == schema.Succeeded {
		return schema.Failed
	}
	return schema.Succeeded
}

// expunge deletes the job itself when its time is up and returns whether it did. A finished job that is
// suspended is kept.
func (d *draft) expunge() bool {
	ttl := d.Job.Policy.TTL
	if !ttl.Set || d.Job.Policy.Suspend {
		return false
	}
	if !d.past(*d.status.CompletionTime, ttl) {
		d.recheck(d.until(*d.status.CompletionTime, ttl))
		return false
	}
	d.plan.Delete = append(d.plan.Delete, Deletion{d.Head.Kind.Resource(), d.Head.Meta.Namespace, d.Head.Meta.Name, d.Head.Meta.UID})
	d.count(CountDeleted)
	return true
}

// subject is how the sentences about a job begin.
func (d *draft) subject() string {
	return d.Head.Kind.Name + " " + d.Head.Key()
}
