package plan

import (
	"fmt"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"stoic/schema"
	"stoic/training"
)

// refuse reports a rejected spec in the status. It neither creates nor deletes children.
//
//	the job                   conditions                                          rest of the status
//	was never accepted        exactly Stalled, Failed (InvalidSpec)               no times, no counts
//	was accepted              Stalled (InvalidSpecUpdate), then those from before counts are updated
//	has a terminal condition  Stalled (InvalidSpecUpdate), then those from before unchanged
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

// dateStalled dates the transition of Stalled before that of the newest other condition that is True: some clients use
// the newest condition as the state of a job, and do not know Stalled.
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

// wasAccepted reports whether the spec was accepted before. A suspended job in a queue has no pods and no start time yet, but
// counts as accepted: the condition Failed would end its place in the queue (Kueue).
func (d *draft) wasAccepted() bool {
	return len(d.Pods)+len(d.BatchJobs) > 0 || d.status.StartTime != nil || d.status.Is(training.Suspended) || d.ended()
}

// refuseSpec sets a Failed that is no terminal condition: it is removed when the spec is repaired. kubectl's State column,
// the SDK and Kueue read Failed; Flux reads Stalled.
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
	if stored := d.status.Condition(training.Stalled); d.isBeingDeleted() && stored != nil && stored.Reason == stalled.Reason && stored.Status == stalled.Status {
		stalled = *stored // its message names another generation
	} else {
		d.dateClaims(&stalled)
	}
	d.drop(training.Stalled)
	d.dropRefusal()
	d.status.Conditions = slices.Insert(d.status.Conditions, 0, stalled)
	if t := terminal(&d.status); t != "" {
		d.drop(other(t))
	} else {
		d.tallyByLabel()
	}
}

// unacted says what happens to a job while its update is rejected. For a running job, neither success nor a failed pod nor a
// limit has an effect, because their meaning depends on the spec.
func (d *draft) unacted() string {
	switch {
	case terminal(&d.status) != "":
		return "the job is over"
	case d.status.Is(training.Suspended):
		return "the job stays suspended"
	}
	return "its pods run on and nothing else is done"
}

// claim returns a condition that is True. Unlike set, it takes over a new message without a transition. It keeps stored
// times, which dateClaims may replace.
func (d *draft) claim(t training.ConditionType, reason, message string) training.Condition {
	c := training.Condition{Type: t, Status: metav1.ConditionTrue, Reason: reason, Message: message,
		LastUpdateTime: d.now, LastTransitionTime: d.now}
	if old := d.status.Condition(t); old != nil && old.Status == c.Status {
		c.LastUpdateTime, c.LastTransitionTime = old.LastUpdateTime, old.LastTransitionTime
	}
	return c
}

// dateClaims sets the update time of the claims to now if one of them is new or about another generation: events are planned
// for some time after it. A new claim is counted.
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

// dropRefusal removes a Failed that is no terminal condition.
func (d *draft) dropRefusal() bool {
	c := d.status.Condition(training.Failed)
	return c != nil && c.Reason == training.ReasonInvalidSpec && d.drop(training.Failed)
}

// accept removes the conditions that were set while the spec was rejected.
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
