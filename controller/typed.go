package controller

import (
	"slices"

	"k8s.io/apimachinery/pkg/api/equality"

	"stoic/controller/watch"
	"stoic/convert"
	"stoic/schema"
)

// Typed serves a Go type that is a CRD type; see convert.Typed for what that is and what the options say of it. The plan's
// status is a pointer to the type of its field Status. One that says what the object's says already is not written, unless
// the object's has a value of another type, which the write replaces. A field of the object's status that the type does not
// have stays until the next write: it may be another writer's. One of which only numbers and messages are new waits until
// the last write is five seconds old, unless the plan writes something else.
//
// decide is called with nil for an object that is rejected: o.Rejection has its problems, and schema.RejectionEvents
// tells them to its author. What the object owns stays as it is unless the plan says otherwise. Warnings, such as unknown
// fields, are told without its doing: see schema.WarningEvents.
func Typed[T any](r schema.Resource, decide func(object *T, o Observed) Plan, owns []*Owned, with ...convert.Option) Watch {
	return watch.Watch{Resource: r, Convert: convert.Typed[T](r, with...), Owns: owns,
		Decide: func(o Observed) Plan {
			object, _ := o.Object.(*T)
			plan := decide(object, o)
			if !o.Head.StatusUnfit && equality.Semantic.DeepEqual(plan.Status, o.Head.Status) {
				plan.Status = nil
			}
			debounceCounts(&o, &plan)
			plan.Events = append(slices.Clip(plan.Events), schema.WarningEvents(o)...)
			return plan
		}}
}
