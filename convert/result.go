package convert

import (
	"fmt"
	"reflect"
	"runtime/debug"
	"slices"

	"stoic/schema"
)

// Result is what an object turned out to be: exactly one of Object and Rejection is set. Cut down by Brief, it is what the
// cache of the objects holds.
type Result struct {
	*schema.Head
	Object    any
	Rejection *schema.Rejection
	// Panic is set if the converter itself failed on the object; the rejection says so to its author.
	Panic *Panic
}

// Brief cuts a result down to the problems and warnings that are reported one by one, and a count of the others: what is
// stored of an object does not grow with the mistakes in it.
func (r *Result) Brief() *Result {
	r.Warnings, r.MoreWarnings = brief(r.Warnings, r.MoreWarnings)
	if r.Rejection != nil {
		r.Rejection.Problems, r.Rejection.More = brief(r.Rejection.Problems, r.Rejection.More)
	}
	return r
}

func brief(problems []schema.Problem, more int) ([]schema.Problem, int) {
	kept := min(len(problems), schema.MaxReported)
	return slices.Clone(problems[:kept]), more + len(problems) - kept // a copy, without room for the others
}

// SameContent says whether two results are of the same content. Those of one resourceVersion are, unless the CRD was changed in
// between: the API server applies the defaults of today, leaves out what the schema does not have, and asks the conversion of
// today, whenever it reads an object.
func (r *Result) SameContent(as *Result) bool {
	return reflect.DeepEqual(r.Head, as.Head) && reflect.DeepEqual(r.Object, as.Object) && reflect.DeepEqual(r.Rejection, as.Rejection) &&
		(r.Panic == nil) == (as.Panic == nil)
}

// Panic is what a converter failed with: a defect of the operator, for its log. It holds nothing of the object beyond what
// the cause says.
type Panic struct {
	Cause string
	Stack []byte // of the recovered panic
}

// NewPanic describes a recovered panic; it is called in the deferred function that recovers.
func NewPanic(cause any) *Panic {
	return &Panic{Cause: schema.Clean(fmt.Sprint(cause), 200), Stack: debug.Stack()}
}
