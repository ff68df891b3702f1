package plan

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"stoic/training"
)

// The algebra of conditions:
//
//	there is                        set does
//	the same, with this reason      nothing: no new time, no new text
//	the same, other reason          take it out, append the new one, keep the transition time
//	the other status, or none       take it out, append the new one, transition time is now
//
// The order is that of the last changes, so the last condition is the state of the job, as kubectl's State
// column and the SDK read it. Created stands in front of those, Stalled in front of all. Of Running and
// Restarting there is at most one, except that a Running that is False may stay. Of Succeeded and Failed at
// most one is there.

// set returns whether it changed anything.
func (d *draft) set(t training.ConditionType, status metav1.ConditionStatus, reason, message string) bool {
	old := d.status.Condition(t)
	if old != nil && old.Status == status && old.Reason == reason {
		return false
	}
	c := training.Condition{Type: t, Status: status, Reason: reason, Message: message,
		LastUpdateTime: d.now, LastTransitionTime: d.now}
	if old != nil && old.Status == status {
		c.LastTransitionTime = old.LastTransitionTime
	}
	d.drop(t)
	d.status.Conditions = append(d.status.Conditions, c)
	return true
}

// drop takes a condition out and returns whether it was there.
func (d *draft) drop(t training.ConditionType) bool {
	before := len(d.status.Conditions)
	d.status.Conditions = slices.DeleteFunc(d.status.Conditions, func(c training.Condition) bool { return c.Type == t })
	return len(d.status.Conditions) < before
}

// moveLast makes a condition that is there, whatever it says, the state of the job.
func (d *draft) moveLast(t training.ConditionType) {
	if c := d.status.Condition(t); c != nil {
		last := *c
		d.drop(t)
		d.status.Conditions = append(d.status.Conditions, last)
	}
}

// create puts Created in front of all; it is never changed.
func (d *draft) create() {
	if d.status.Is(training.Created) {
		return
	}
	d.drop(training.Created)
	d.status.Conditions = slices.Insert(d.status.Conditions, 0, training.Condition{
		Type: training.Created, Status: metav1.ConditionTrue, Reason: d.Head.Kind.Reason(training.ReasonCreated),
		Message:        d.Job.Sentences().Created,
		LastUpdateTime: d.now, LastTransitionTime: d.now,
	})
	d.count(CountCreated)
}

// stop says that the job does not run any more; the condition stays where it is.
func (d *draft) stop() {
	d.drop(training.Restarting)
	if c := d.status.Condition(training.Running); c != nil && c.Status != metav1.ConditionFalse {
		c.Status = metav1.ConditionFalse
		c.LastUpdateTime, c.LastTransitionTime = d.now, d.now
	}
}

// terminal is the terminal condition on record, or "". A status that has both (earlier operators wrote such) means the
// one that came first: by time, then by place. A Failed that says that the spec was refused is none.
func terminal(s *training.Status) training.ConditionType {
	if !s.Is(training.Succeeded) || !s.Is(training.Failed) || s.Condition(training.Failed).Reason == training.ReasonInvalidSpec {
		return s.Terminal()
	}
	var first *training.Condition
	for i := range s.Conditions {
		c := &s.Conditions[i]
		if c.Type != training.Succeeded && c.Type != training.Failed {
			continue
		}
		if first == nil || c.LastTransitionTime.Unix() < first.LastTransitionTime.Unix() {
			first = c
		}
	}
	return first.Type
}
