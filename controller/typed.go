package controller

import (
	"fmt"
	"reflect"
	"slices"

	"k8s.io/apimachinery/pkg/api/equality"

	"stoic/controller/watch"
	"stoic/convert"
	"stoic/schema"
)

// Typed serves a Go type that is a CRD type; convert.Typed says what that is and what the options do. The status of a plan is a pointer
// to the type of the field Status. It must not be the observed pointer, which belongs to the cache. A status that says the same as the
// recorded one is not written, unless the recorded one has a value of another type, which the write replaces. A field of the recorded
// status that the type does not have stays until the next write, as it may be another writer's. A status in which only numbers and
// messages have changed waits until the last write is five seconds old, unless the plan writes something else.
//
// decide is called with a nil object if the object is rejected: o.Rejection has its problems, and schema.RejectionEvents reports them to
// the user. What the object owns stays as it is unless the plan says otherwise. Warnings, such as unknown fields, are reported without
// decide: see schema.WarningEvents.
func Typed[T any](r schema.Resource, decide func(object *T, o Observed) Plan, owns []*Owned, with ...convert.Option) Watch {
	return watch.Watch{Resource: r, Convert: convert.Typed[T](r, with...), Owns: owns,
		Decide: func(o Observed) Plan {
			object, _ := o.Object.(*T)
			plan := decide(object, o)
			plan.Status = statusOf(plan.Status, o.Head.Status, r.Kind)
			if plan.Status != nil && !o.Head.StatusUnfit && sameStatus(plan.Status, o.Head.Status) {
				plan.Status = nil
			}
			debounceCounts(&o, &plan)
			plan.Events = append(slices.Clip(plan.Events), schema.WarningEvents(o)...)
			return plan
		}}
}

// statusOf returns the status of a plan. A nil pointer is no status: to write it would wipe the recorded one. A status whose type is not
// that of the recorded one, or that is the observed pointer itself, is a defect that would look like nothing to write: statusOf panics.
func statusOf(planned, recorded any, kind string) any {
	value := reflect.ValueOf(planned)
	switch {
	case planned == nil:
		return nil
	case recorded != nil && value.Type() != reflect.TypeOf(recorded):
		panic(fmt.Sprintf("the plan for a %s has a status of type %T, must be %T", kind, planned, recorded))
	case value.Kind() != reflect.Pointer:
		return planned
	case value.IsNil():
		return nil
	case planned == recorded:
		panic(fmt.Sprintf("the plan for a %s has the status that was observed, which is the cache's: plan a copy", kind))
	}
	return planned
}

// sameStatus reports whether two statuses are written alike. A nil list or map equals an empty one, unless the type hides fields. If a
// type hides what it holds (time.Time, netip.Addr) or leaves the type of a number open, their JSON is compared.
func sameStatus(planned, recorded any) bool {
	return semanticallyEqual(planned, recorded) || schema.SameJSON(planned, recorded)
}

func semanticallyEqual(a, b any) (same bool) {
	defer func() {
		if recover() != nil { // an unexported field
			same = false
		}
	}()
	return equality.Semantic.DeepEqual(a, b)
}
