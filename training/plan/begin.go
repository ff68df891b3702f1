package plan

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"stoic/training"
)

// begin sets Created and, after a suspension, Suspended to False. It sets the start time, again after a suspension,
// because the time while suspended does not count towards the deadline.
func begin(d *draft) bool {
	d.create()
	if d.status.Is(training.Suspended) {
		d.set(training.Suspended, metav1.ConditionFalse, d.Head.Kind.Reason(training.ReasonResumed), d.Job.Sentences().Resumed)
		d.status.StartTime = nil
	}
	if d.status.StartTime == nil {
		d.status.StartTime = d.now.DeepCopy()
	}
	// An edited status may hold Running and Restarting at once.
	if d.status.Is(training.Running) {
		d.drop(training.Restarting)
	}
	return false
}
