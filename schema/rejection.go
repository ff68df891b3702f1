package schema

import (
	"fmt"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// eventsFor is how long after a rejection its events are planned. It is longer than the emitter takes to send a backlog, and
// shorter than the hour for which API servers keep events, so that no event is emitted twice.
const eventsFor = 45 * time.Minute

// RejectionEvents returns events that report the problems of a rejected object: the first few one by one, and how many more there
// are. Since is when the rejection was first on record, such as the transition time of a condition that reports it. With it the
// events of one rejection are the same at every reconcile. There are none for a rejection that is long past.
func RejectionEvents(o Observed, since time.Time) []Event {
	if o.Rejection == nil || o.Now.Sub(since) > eventsFor {
		return nil
	}
	reason := func(Code) string { return o.Head.Resource.Kind + "FailedValidation" }
	return problemEvents(o, o.Rejection.Problems, o.Rejection.More, reason, "problem", since)
}

// WarningEvents returns events that report the warnings of an object that is served, such as a field that no one reads. They are
// planned while the object is young, and after a change of its spec until a status about it is on record: the API server keeps
// events for an hour. The engine adds them by itself for objects of controller.Typed.
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

// problemEvents reports the first few problems one by one, and how many more there are.
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

// RejectedSince returns when the rejection was first on record, for RejectionEvents: when the condition of this type became True,
// if it is about this generation of the spec, and otherwise now.
func RejectedSince(o Observed, conditions []metav1.Condition, of string) time.Time {
	c := Condition(conditions, of)
	if c == nil || c.Status != metav1.ConditionTrue || c.ObservedGeneration != o.Head.Meta.Generation || c.LastTransitionTime.IsZero() {
		return o.Now
	}
	return c.LastTransitionTime.Time
}

// Reject returns the events of a rejected object, and the message of the condition of this type, which is True while the object is
// rejected. Stays says what remains unchanged, such as "the ConfigMap stays as it is".
func Reject(o Observed, conditions []metav1.Condition, of, stays string) (events []Event, message string) {
	return RejectionEvents(o, RejectedSince(o, conditions, of)), Summarize(o.Rejection.Problems, o.Rejection.More, stays, "Edit the "+o.Head.Resource.Kind+" to retry.")
}

// Validity returns the conditions Ready and Stalled of an object, and the events of Reject if it is rejected. Both conditions of a
// rejected object have the problems. For any other object Stalled is False, and Ready is True without a reason, which the caller
// sets. Old are the conditions on record.
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

// SetCondition returns a copy of conditions with this one in it, sorted by type. By the API conventions, the transition time
// changes only with the status. So setting an equal condition again changes nothing.
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

// Conditions returns exactly these conditions, for this generation of the spec, and drops all others: with a condition that another
// client has set, the API server may refuse the whole status. Transition times of old conditions are kept as SetCondition does.
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

// When returns a condition of a type that is True for the reason yes, or False for the reason no.
func When(is bool, of, yes, no, message string) metav1.Condition {
	c := metav1.Condition{Type: of, Status: metav1.ConditionFalse, Reason: no, Message: message}
	if is {
		c.Status, c.Reason = metav1.ConditionTrue, yes
	}
	return c
}

// Condition returns the condition of a type, or nil.
func Condition(conditions []metav1.Condition, of string) *metav1.Condition {
	for i := range conditions {
		if conditions[i].Type == of {
			return &conditions[i]
		}
	}
	return nil
}

// OwnerReference returns a reference that makes the object of head the controller owner.
func OwnerReference(head *Head) metav1.OwnerReference {
	yes := true
	return metav1.OwnerReference{APIVersion: head.Resource.APIVersion(), Kind: head.Resource.Kind, Name: head.Meta.Name, UID: head.Meta.UID,
		Controller: &yes, BlockOwnerDeletion: &yes}
}
