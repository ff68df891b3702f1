package plan

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"stoic/training"
)

// How set changes the conditions:
//
//	existing condition of the type  set
//	same status, same reason        does nothing: no new time, no new message
//	same status, other reason       removes it, appends the new one, keeps the transition time
//	other status, or none           removes it, appends the new one, the transition time is now
//
// Conditions are in the order of their last changes, so the last one is the state of the job, as kubectl's State
// column and the SDK show it. Created precedes these, and Stalled precedes all. Running and Restarting exclude
// each other, except that a Running with status False may stay. Succeeded and Failed exclude each other.

// set sets a condition and reports whether it changed anything.
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

// drop removes a condition and reports whether it existed.
func (d *draft) drop(t training.ConditionType) bool {
	before := len(d.status.Conditions)
	d.status.Conditions = slices.DeleteFunc(d.status.Conditions, func(c training.Condition) bool { return c.Type == t })
	return len(d.status.Conditions) < before
}

// moveLast moves an existing condition to the end, where it is the state of the job.
func (d *draft) moveLast(t training.ConditionType) {
	if c := d.status.Condition(t); c != nil {
		last := *c
		d.drop(t)
		d.status.Conditions = append(d.status.Conditions, last)
	}
}

// create inserts Created as the first condition if it is missing. It is never changed afterwards.
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

// stop sets Running to False, without moving it, and removes Restarting.
func (d *draft) stop() {
	d.drop(training.Restarting)
	if c := d.status.Condition(training.Running); c != nil && c.Status != metav1.ConditionFalse {
		c.Status = metav1.ConditionFalse
		c.LastUpdateTime, c.LastTransitionTime = d.now, d.now
	}
}

// terminal returns the type of the terminal condition in a status, or "". If a status has both, as earlier operators may have
// written, the first one counts: by time, then by position. A Failed with ReasonInvalidSpec is no terminal condition.
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
