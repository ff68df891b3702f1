package plan

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"stoic/training"
)

// suspended deletes all children, the dependent objects that do not stay (training.Form) and the record of successes,
// because a resumed job starts from the beginning. The counts of succeeded and failed replicas stay. A job that is being deleted
// is not resumed any more.
func suspended(d *draft) bool {
	if !d.Job.Policy.Suspend && !(d.isBeingDeleted() && d.status.Is(training.Suspended)) {
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
