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

// Typed serves a Go type that is a CRD type; see convert.Typed for what that is and what the options say of it. The plan's
// status is a pointer to the type of its field Status, and not the pointer that was observed: that one is the cache's. One that
// says what the object's says already is not written, unless the object's has a value of another type, which the write
// replaces. A field of the object's status that the type does not have stays until the next write: it may be another writer's.
// One of which only numbers and messages are new waits until the last write is five seconds old, unless the plan writes
// something else.
//
// decide is called with nil for an object that is rejected: o.Rejection has its problems, and schema.RejectionEvents
// tells them to its author. What the object owns stays as it is unless the plan says otherwise. Warnings, such as unknown
// fields, are told without its doing: see schema.WarningEvents.
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

// statusOf a plan: a nil pointer is none. To write it would wipe what is on record. What is no pointer to the type of the object's own
// status, or is that very pointer, is a mistake of the author that would look as if nothing was to be written: it panics.
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

// sameStatus says whether two are written alike. A nil list or map is an empty one, unless the type hides fields. Where a type
// hides what it holds (time.Time, netip.Addr), and where it leaves the type of a number open, what counts is the JSON.
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
