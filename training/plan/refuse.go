package plan

import (
	"fmt"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"stoic/schema"
	"stoic/training"
)

// refuse tells the author of an object that is no job. Its children are neither created nor deleted.
//
//	the job         conditions                                  else
//	never accepted  exactly Stalled, Failed (InvalidSpec)       no times, no counts
//	was accepted    Stalled (InvalidSpecUpdate), then as were   counts followed
//	has a terminal condition   Stalled (InvalidSpecUpdate), then as were   as it was
func refuse(d *draft) bool {
	if d.Rejection == nil {
		return false
	}
	if d.wasAccepted() {
		d.refuseUpdate()
	} else {
		d.refuseSpec()
	}
	d.dateStalled()
	return true
}

// dateStalled puts the transition of Stalled before that of the newest other condition that is True. Some clients take
// the newest condition for the state of a job, and know no state Stalled.
func (d *draft) dateStalled() {
	stalled := d.status.Condition(training.Stalled)
	newest := metav1.Time{}
	for _, c := range d.status.Conditions {
		if c.Type != training.Stalled && c.Status == metav1.ConditionTrue && c.LastTransitionTime.After(newest.Time) {
			newest = c.LastTransitionTime
		}
	}
	before := metav1.NewTime(newest.Truncate(time.Second).Add(-time.Second))
	if newest.IsZero() || before.IsZero() || stalled.LastTransitionTime.Unix() < newest.Unix() {
		return // a time that is zero cannot be written
	}
	stalled.LastTransitionTime = before
}

// wasAccepted: there was a time when the object was a job. One that waits suspended, in a queue, has no pods and no start time yet: to be
// told that it has failed would end its place in the queue (Kueue).
func (d *draft) wasAccepted() bool {
	return len(d.Pods)+len(d.BatchJobs) > 0 || d.status.StartTime != nil || d.status.Is(training.Suspended) || d.ended()
}

// refuseSpec writes a Failed that is no terminal condition: it goes when the spec is repaired. Failed is what kubectl's
// State column, the SDK and Kueue look at, Stalled what Flux does.
func (d *draft) refuseSpec() {
	stalled := d.claim(training.Stalled, training.ReasonInvalidSpec, "spec rejected; see condition Failed")
	reason := d.claim(training.Failed, training.ReasonInvalidSpec,
		schema.Summarize(d.Rejection.Problems, d.Rejection.More, "no pods were created", "Edit the job to retry."))
	d.dateClaims(&stalled, &reason)
	d.status = training.Status{
		Conditions:        []training.Condition{stalled, reason},
		LastReconcileTime: d.status.LastReconcileTime,
	}
}

func (d *draft) refuseUpdate() {
	stalled := d.claim(training.Stalled, training.ReasonInvalidSpecUpdate, schema.Summarize(d.Rejection.Problems, d.Rejection.More,
		fmt.Sprintf("update at generation %d rejected, %s", d.Head.Meta.Generation, d.unacted()), ""))
	d.dateClaims(&stalled)
	d.drop(training.Stalled)
	d.dropRefusal()
	d.status.Conditions = slices.Insert(d.status.Conditions, 0, stalled)
	if t := terminal(&d.status); t != "" {
		d.drop(other(t))
	} else {
		d.tallyByLabel()
	}
}

// unacted says what becomes of a job while its update is rejected. Of one that runs neither the success, nor a failed pod, nor a limit is
// acted on: what they mean is said in the spec.
func (d *draft) unacted() string {
	switch {
	case terminal(&d.status) != "":
		return "the job is over"
	case d.status.Is(training.Suspended):
		return "the job stays suspended"
	}
	return "its pods run on and nothing else is done"
}

// claim is a condition that is True. Unlike what set does, a new text is reported, but is no transition. The
// dates are those on record, if there are any; it is for dateClaims to say whether that holds.
func (d *draft) claim(t training.ConditionType, reason, message string) training.Condition {
	c := training.Condition{Type: t, Status: metav1.ConditionTrue, Reason: reason, Message: message,
		LastUpdateTime: d.now, LastTransitionTime: d.now}
	if old := d.status.Condition(t); old != nil && old.Status == c.Status {
		c.LastUpdateTime, c.LastTransitionTime = old.LastUpdateTime, old.LastTransitionTime
	}
	return c
}

// dateClaims dates the claims to now if one of them is new or speaks of another generation: the events are planned for
// some time after that date. A new claim comes with a count.
func (d *draft) dateClaims(claims ...*training.Condition) {
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

// dropRefusal takes out a Failed that is no terminal condition.
func (d *draft) dropRefusal() bool {
	c := d.status.Condition(training.Failed)
	return c != nil && c.Reason == training.ReasonInvalidSpec && d.drop(training.Failed)
}

// accept takes out what was written while the spec was refused.
func accept(d *draft) bool {
	stalled, refused := d.drop(training.Stalled), d.dropRefusal()
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
		d.tail = "continuing"
	}
	return false
}
