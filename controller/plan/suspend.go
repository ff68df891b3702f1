package plan

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"stoic/schema"
)

// suspended: no pods nor extra objects, whatever they have done so far. The counts of what succeeded and failed stay.
func suspended(d *draft) bool {
	if !d.Job.Policy.Suspend {
		return false
	}
	kind := d.Head.Kind
	reason, message := kind.Reason(schema.ReasonSuspended), kind.Name+" "+d.Head.Meta.Name+" is suspended."
	d.create()
	d.still()
	d.drop(schema.Restarting)
	if d.status.Is(schema.Running) {
		d.set(schema.Running, metav1.ConditionFalse, reason, message)
	}
	d.set(schema.Suspended, metav1.ConditionTrue, reason, message)
	d.status.CompletionTime = nil
	d.clear(func(*schema.Pod) bool { return false })
	d.keep(nil)
	return true
}
