package plan

import (
	"cmp"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"stoic/schema"
	"stoic/training"
)

const (
	// tellFor is how long each reconcile plans an event again after its cause, so that no event is lost if the process
	// ends before it is sent, even behind a long backlog. Each occasion is reported once: the API server rejects an event
	// that already exists. It deletes events after an hour, so tellFor must be well below that: otherwise an event could
	// be created a second time.
	tellFor = 45 * time.Minute
	// tellAhead is how far the clock behind a time in the status may be ahead of ours.
	tellAhead  = 5 * time.Minute
	maxMessage = 1024 // the API server refuses longer ones
)

// planEvents plans the events. All except the acceptance of a spec depend on the new status, not on what happened in
// this reconcile. There are none about the spec of an object that is being deleted.
func (d *draft) planEvents() {
	if !d.isBeingDeleted() {
		d.rejectionEvents()
	}
	for i := range d.status.Conditions {
		d.conditionEvent(&d.status.Conditions[i])
	}
	if !d.isBeingDeleted() {
		d.warningEvents()
	}
	d.podProblemEvents()
	d.waitEvents()
}

// rejectionEvents reports the problems of a rejected spec, and that a rejected spec was repaired.
func (d *draft) rejectionEvents() {
	if d.Rejection != nil {
		if c := d.status.Condition(training.Stalled); c != nil && d.recent(c.LastUpdateTime) {
			d.problemEvents(d.Rejection.Problems, d.Rejection.More, func(schema.Code) string {
				return d.Head.Kind.Reason(training.ReasonFailedValidation)
			}, "problem", c.LastUpdateTime)
		}
	} else if d.tail != "" {
		d.event(corev1.EventTypeNormal, d.Head.Kind.Reason(training.ReasonSpecAccepted), "",
			fmt.Sprintf("spec accepted at generation %d; %s", d.Head.Meta.Generation, d.tail), d.generation(), d.now)
	}
}

// warningEvents reports the warnings of a spec.
func (d *draft) warningEvents() {
	if since, ok := d.warn(); ok && d.Rejection == nil {
		d.problemEvents(d.Head.Warnings, d.Head.MoreWarnings, d.warningReason, "warning", since)
		d.tellRestartPolicy(since)
		d.schedulerEvents(since)
	}
}

// conditionEvent reports a transition:
//
//	Succeeded True    Normal    KINDSucceeded
//	Failed True       Warning   KINDFailed, but not for a rejected spec, whose problems are reported one by one
//	Restarting True   Warning   KINDRestarting
//	Suspended True    Normal    KINDSuspended
//	Suspended False   Normal    KINDResumed
func (d *draft) conditionEvent(c *training.Condition) {
	if !d.recent(c.LastTransitionTime) {
		return
	}
	kind, reason := corev1.EventTypeNormal, ""
	yes := c.Status == metav1.ConditionTrue
	switch {
	case c.Type == training.Succeeded && yes:
		reason = training.ReasonSucceeded
	case c.Type == training.Failed && yes && c.Reason != training.ReasonInvalidSpec:
		kind, reason = corev1.EventTypeWarning, training.ReasonFailed
	case c.Type == training.Restarting && yes:
		kind, reason = corev1.EventTypeWarning, training.ReasonRestarting
	case c.Type == training.Suspended && yes:
		reason = training.ReasonSuspended
	case c.Type == training.Suspended && c.Status == metav1.ConditionFalse:
		reason = training.ReasonResumed
	default:
		return
	}
	reason = d.Head.Kind.Reason(reason)
	message, _ := splitNote(c)
	d.event(kind, reason, "", cmp.Or(message, reason), c.LastTransitionTime.UTC().Format(time.RFC3339), c.LastTransitionTime)
}

// problemEvents reports the first problems one by one and then the number of all others, including the more that are not
// in the list.
func (d *draft) problemEvents(problems []schema.Problem, more int, reason func(schema.Code) string, noun string, since metav1.Time) {
	first := problems[:min(len(problems), schema.MaxReported)]
	for _, p := range first {
		d.event(corev1.EventTypeWarning, reason(p.Code), p.Path, p.String(), d.generation(), since)
	}
	more += len(problems) - len(first)
	if more == 0 {
		return
	}
	if more > 1 {
		noun += "s"
	}
	d.event(corev1.EventTypeWarning, reason(""), "",
		fmt.Sprintf("... and %d more %s; run `stoic validate`", more, noun), d.generation(), since)
}

// tellRestartPolicy reports a restart policy in a pod template a second time, with the reason and the message that clients
// of the kind know.
func (d *draft) tellRestartPolicy(since metav1.Time) {
	if at := d.Head.PodRestartPolicy; at != "" {
		d.event(corev1.EventTypeWarning, training.ReasonPodRestartPolicy, at, d.Job.Sentences().PodRestartPolicy, d.generation(), since)
	}
}

// warn reports whether warnings are due, and since when: when the job is new and when its spec has changed.
func (d *draft) warn() (since metav1.Time, ok bool) {
	if d.KeepsGeneration && d.Head.Status.ObservedGeneration != d.Head.Meta.Generation {
		return d.now, true
	}
	c := d.status.Condition(training.Created)
	if c == nil {
		return d.now, false
	}
	return c.LastTransitionTime, d.recent(c.LastTransitionTime)
}

func (d *draft) warningReason(code schema.Code) string {
	switch code {
	case schema.UnknownField, schema.MisplacedField:
		return training.ReasonUnknownField
	}
	return d.Head.Kind.Reason(training.ReasonSpecWarning)
}

// recent reports whether a time is less than tellFor ago and not far in the future, as in an edited status.
func (d *draft) recent(t metav1.Time) bool {
	age := d.Now.Sub(t.Time)
	return -tellAhead < age && age < tellFor
}

func (d *draft) generation() string { return fmt.Sprintf("generation %d", d.Head.Meta.Generation) }

func (d *draft) event(kind, reason, path, message, occasion string, since metav1.Time) {
	d.plan.Events = append(d.plan.Events, Event{Type: kind, Reason: reason, FieldPath: path,
		Message: schema.Clean(message, maxMessage), Occasion: occasion, Since: since.Time})
}
