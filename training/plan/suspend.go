package plan

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"stoic/training"
)

// suspended: no pods, nor dependent objects but those that stay, whatever they have done so far, and no successes on record: a resumed job begins
// from the beginning. The counts of what succeeded and failed stay.
func suspended(d *draft) bool {
	if !d.Job.Policy.Suspend {
		return false
	}
	kind := d.Head.Kind
	reason, words := kind.Reason(training.ReasonSuspended), d.Job.Sentences()
	d.create()
	d.still(false)
	d.drop(training.Restarting)
	if d.status.Is(training.Running) || kind.SuspendedNotRunning && d.status.Condition(training.Running) == nil {
		d.set(training.Running, metav1.ConditionFalse, reason, words.NotRunning)
		d.moveLast(training.Suspended)
	}
	d.set(training.Suspended, metav1.ConditionTrue, reason, words.Suspended)
	d.status.CompletionTime = nil
	if d.suspendBatch() {
		d.clear(func(*training.Pod) bool { return false })
	}
	d.rest()
	d.forgetSuccesses()
	return true
}
