package plan

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"stoic/schema"
)

// begin notes that the job was seen, that it goes on after a suspension, and since when it runs: the time
// while suspended does not count towards the deadline.
func begin(d *draft) bool {
	d.create()
	kind, name := d.Head.Kind, d.Head.Meta.Name
	if d.status.Is(schema.Suspended) {
		d.set(schema.Suspended, metav1.ConditionFalse, kind.Reason(schema.ReasonResumed), kind.Name+" "+name+" is resumed.")
		d.status.StartTime = nil
	}
	if d.status.StartTime == nil {
		d.status.StartTime = d.now.DeepCopy()
	}
	// An edited status may hold Running and Restarting at once.
	if d.status.Is(schema.Running) {
		d.drop(schema.Restarting)
	}
	return false
}
