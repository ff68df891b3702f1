package schema

import (
	"fmt"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// eventsFor is how long after a rejection its events are planned: longer than a backlog takes to be sent, and less than
// the hour after which API servers forget events, so that none is emitted twice.
const eventsFor = 45 * time.Minute

// RejectionEvents tell the author of a rejected object its problems: the first few one by one, and how many more there
// are. Since is when the rejection was first on record, such as the transition time of a condition that says so: it makes
// the events of one rejection the same at every reconcile. There are none for what is long past.
func RejectionEvents(o Observed, since time.Time) []Event {
	if o.Rejection == nil || o.Now.Sub(since) > eventsFor {
		return nil
	}
	reason := func(Code) string { return o.Head.Resource.Kind + "FailedValidation" }
	return problemEvents(o, o.Rejection.Problems, o.Rejection.More, reason, "problem", since)
}

// WarningEvents tell the author of an object that is served what is odd about it, such as a field that nobody reads. They are
// planned until a status about the spec is on record, and while the object is young: the API server has them for an hour. An
// object of controller.Typed has them without its author's doing.
func WarningEvents(o Observed) []Event {
	if o.Rejection != nil || len(o.Head.Warnings) == 0 || o.Head.Meta.DeletionTimestamp != nil {
		return nil
	}
	since := o.Head.Meta.CreationTimestamp.Time
	if o.KeepsGeneration && o.Head.ObservedGeneration != o.Head.Meta.Generation && o.Head.Meta.Generation > 1 {
		since = o.Now
	}
	if o.Now.Sub(since) > eventsFor {
		return nil
	}
	reason := func(code Code) string {
		if code == UnknownField || code == MisplacedField {
			return "UnknownField"
		}
		return o.Head.Resource.Kind + "SpecWarning"
	}
	return problemEvents(o, o.Head.Warnings, o.Head.MoreWarnings, reason, "warning", since)
}

// problemEvents tell the first few one by one, and how many more there are.
func problemEvents(o Observed, all []Problem, unkept int, reason func(Code) string, noun string, since time.Time) (events []Event) {
	add := func(code Code, path, message string) {
		events = append(events, Event{Type: "Warning", Reason: reason(code), FieldPath: path, Message: Clean(message, 1024),
			Occasion: fmt.Sprintf("generation %d", o.Head.Meta.Generation), Since: since, AboutSpec: true})
	}
	first := all[:min(len(all), MaxReported)]
	for _, p := range first {
		add(p.Code, p.Path, p.String())
	}
	switch more := len(all) - len(first) + unkept; {
	case more == 1:
		add("", "", "... and 1 more "+noun)
	case more > 1:
		add("", "", fmt.Sprintf("... and %d more %ss", more, noun))
	}
	return events
}

// RejectedSince is when the rejection was first on record, for RejectionEvents: when the condition of this type became
// True, if it is about this generation of the spec, and now if nothing is on record yet.
func RejectedSince(o Observed, conditions []metav1.Condition, of string) time.Time {
	c := Condition(conditions, of)
	if c == nil || c.Status != metav1.ConditionTrue || c.ObservedGeneration != o.Head.Meta.Generation || c.LastTransitionTime.IsZero() {
		return o.Now
	}
	return c.LastTransitionTime.Time
}

// Reject is what a decision tells the author of a rejected object: the events, and the message of the condition of this type,
// which is True while the object is rejected. It says what stays as it is, such as "the ConfigMap stays as it is".
func Reject(o Observed, conditions []metav1.Condition, of, stays string) (events []Event, message string) {
	return RejectionEvents(o, RejectedSince(o, conditions, of)), Summarize(o.Rejection.Problems, o.Rejection.More, stays, "Edit the "+o.Head.Resource.Kind+" to retry.")
}

// Validity is what the conditions Ready and Stalled say of an object as far as it is well-formed or not, and the events that tell
// its author, as Reject says. Of a rejected object both have the problems; of any other Stalled is False, and Ready is True with a
// reason still to be given. Old are the conditions on record.
func Validity(o Observed, old []metav1.Condition, stays string) (ready, stalled metav1.Condition, events []Event) {
	ready, stalled = metav1.Condition{Type: "Ready", Status: metav1.ConditionTrue}, metav1.Condition{Type: "Stalled", Status: metav1.ConditionFalse, Reason: "ValidSpec"}
	if o.Rejection == nil {
		return ready, stalled, nil
	}
	events, message := Reject(o, old, stalled.Type, stays)
	ready.Status, ready.Reason, ready.Message = metav1.ConditionFalse, "InvalidSpec", message
	stalled.Status, stalled.Reason, stalled.Message = metav1.ConditionTrue, ready.Reason, message
	return ready, stalled, events
}

// SetCondition returns a copy of conditions with this one in it, in the order of their types. As API conventions have it,
// the transition time changes with the status only; a time, a generation and a message that say nothing new change
// nothing.
func SetCondition(conditions []metav1.Condition, c metav1.Condition, now time.Time) []metav1.Condition {
	c.LastTransitionTime = metav1.NewTime(now.UTC().Truncate(time.Second))
	c.Message = Clean(c.Message, 1024)
	var all []metav1.Condition
	placed := false
	for _, old := range conditions {
		if old.Type == c.Type && old.Status == c.Status && !old.LastTransitionTime.IsZero() {
			c.LastTransitionTime = old.LastTransitionTime
		}
		if !placed && strings.Compare(c.Type, old.Type) <= 0 {
			all, placed = append(all, c), true
		}
		if old.Type != c.Type {
			all = append(all, old)
		}
	}
	if !placed {
		all = append(all, c)
	}
	for i := range all {
		if all[i].Type == c.Type {
			all[i].LastTransitionTime = c.LastTransitionTime
		}
	}
	return all
}

// Conditions are those that an operator writes, about this generation of the spec, and no others: one that somebody else
// has put into the status may be such that the API server refuses the whole status. Of the old ones the transition times
// are kept as SetCondition does.
func Conditions(old []metav1.Condition, generation int64, now time.Time, all ...metav1.Condition) []metav1.Condition {
	var written []metav1.Condition
	for _, c := range all {
		c.ObservedGeneration = generation
		if was := Condition(old, c.Type); was != nil {
			written = append(written, *was)
		}
		written = SetCondition(written, c, now)
	}
	return written
}

// When is the condition of a type that is True for one reason, or False for another.
func When(is bool, of, yes, no, message string) metav1.Condition {
	c := metav1.Condition{Type: of, Status: metav1.ConditionFalse, Reason: no, Message: message}
	if is {
		c.Status, c.Reason = metav1.ConditionTrue, yes
	}
	return c
}

// Condition of a type, or nil.
func Condition(conditions []metav1.Condition, of string) *metav1.Condition {
	for i := range conditions {
		if conditions[i].Type == of {
			return &conditions[i]
		}
	}
	return nil
}

// OwnerReference makes an object of the same namespace the controller owner of another.
func OwnerReference(head *Head) metav1.OwnerReference {
	yes := true
	return metav1.OwnerReference{APIVersion: head.Resource.APIVersion(), Kind: head.Resource.Kind, Name: head.Meta.Name, UID: head.Meta.UID,
		Controller: &yes, BlockOwnerDeletion: &yes}
}
