package plan

import (
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"stoic/schema"
)

// refuse tells the author of an object that is no job. Its children are neither created nor deleted.
//
//	the job         conditions                                  else
//	never started   exactly Stalled, Failed (InvalidSpec)       no times, no counts
//	has started     Stalled (InvalidSpecUpdate), then as were   counts followed
//	has a verdict   Stalled (InvalidSpecUpdate), then as were   as it was
func refuse(d *draft) bool {
	if d.Rejection == nil {
		return false
	}
	if d.started() {
		d.refuseUpdate()
	} else {
		d.refuseSpec()
	}
	return true
}

// started: there was a time when the object was a job.
func (d *draft) started() bool {
	return len(d.Pods) > 0 || d.status.StartTime != nil || d.ended()
}

// refuseSpec writes a Failed that is no verdict: it goes when the spec is repaired. Failed is what kubectl's
// State column, the SDK and Kueue look at, Stalled what Flux and Argo CD do.
func (d *draft) refuseSpec() {
	stalled := d.claim(schema.Stalled, schema.ReasonInvalidSpec, "spec rejected; see condition Failed")
	reason := d.claim(schema.Failed, schema.ReasonInvalidSpec,
		schema.Summarize(d.Rejection.Problems, "no pods were created", "Edit the job to retry."))
	d.news(&stalled, &reason)
	d.status = schema.Status{
		Conditions:        []schema.Condition{stalled, reason},
		LastReconcileTime: d.status.LastReconcileTime,
	}
}

func (d *draft) refuseUpdate() {
	stalled := d.claim(schema.Stalled, schema.ReasonInvalidSpecUpdate, schema.Summarize(d.Rejection.Problems,
		fmt.Sprintf("update at generation %d rejected, the job goes on as it was", d.Head.Meta.Generation), ""))
	d.news(&stalled)
	d.drop(schema.Stalled)
	d.dropRefusal()
	d.status.Conditions = slices.Insert(d.status.Conditions, 0, stalled)
	if t := verdict(&d.status); t != "" {
		d.drop(other(t))
	} else {
		d.tallyByLabel()
	}
}

// claim is a condition that is True. Unlike what set does, a new text is told, but is no transition. The
// dates are those on record, if there are any; it is for news to say whether that holds.
func (d *draft) claim(t schema.ConditionType, reason, message string) schema.Condition {
	c := schema.Condition{Type: t, Status: metav1.ConditionTrue, Reason: reason, Message: message,
		LastUpdateTime: d.now, LastTransitionTime: d.now}
	if old := d.status.Condition(t); old != nil && old.Status == c.Status {
		c.LastUpdateTime, c.LastTransitionTime = old.LastUpdateTime, old.LastTransitionTime
	}
	return c
}

// news dates the claims to now if one of them is new or speaks of another generation: the events are told for
// some time after that date. With news comes a count.
func (d *draft) news(claims ...*schema.Condition) {
	fresh := d.KeepsGeneration && d.Head.Status.ObservedGeneration != d.Head.Meta.Generation
	for _, c := range claims {
		old := d.status.Condition(c.Type)
		fresh = fresh || old == nil || !sameCondition(*old, *c)
	}
	if !fresh {
		return
	}
	for _, c := range claims {
		c.LastUpdateTime = d.now
	}
	code := schema.Code("")
	if len(d.Rejection.Problems) > 0 {
		code = d.Rejection.Problems[0].Code
	}
	d.plan.Count = append(d.plan.Count, Count{Counter: CountRejected, Code: code})
}

// dropRefusal takes out a Failed that is no verdict.
func (d *draft) dropRefusal() bool {
	c := d.status.Condition(schema.Failed)
	return c != nil && c.Reason == schema.ReasonInvalidSpec && d.drop(schema.Failed)
}

// accept takes out what was written while the spec was refused.
func accept(d *draft) bool {
	stalled, refused := d.drop(schema.Stalled), d.dropRefusal()
	if !stalled && !refused {
		return false
	}
	switch {
	case d.ended():
		d.tail = "the job is over"
	case d.Job.Policy.Suspend:
		d.tail = "suspended"
	case d.status.StartTime == nil:
		d.tail = "starting"
	default:
		d.tail = "going on"
	}
	return false
}
