package convert

import (
	"fmt"
	"reflect"
	"runtime/debug"
	"slices"

	"stoic/schema"
)

// Result is the result of converting an object: exactly one of Object and Rejection is set. The cache of the objects holds it,
// reduced by Brief.
type Result struct {
	*schema.Head
	Object    any
	Rejection *schema.Rejection
	// Panic is set if the converter itself failed on the object. The rejection reports it to the user.
	Panic *Panic
}

// Brief reduces a result to the problems and warnings that are reported one by one, and a count of the others. So the memory for an
// object does not grow with its problems.
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

// SameContent reports whether two results have the same content. Results of one resourceVersion have, unless the CRD has changed in
// between: at every read the API server applies the current defaults, pruning and conversion.
func (r *Result) SameContent(as *Result) bool {
	return reflect.DeepEqual(r.Head, as.Head) && reflect.DeepEqual(r.Object, as.Object) && reflect.DeepEqual(r.Rejection, as.Rejection) &&
		(r.Panic == nil) == (as.Panic == nil)
}

// Panic describes a panic of a converter: a defect of the operator, for its log. It holds nothing of the object beyond what the
// cause says.
type Panic struct {
	Cause string
	Stack []byte // of the recovered panic
}

// NewPanic describes a recovered panic. It must be called in the deferred function that recovers.
func NewPanic(cause any) *Panic {
	return &Panic{Cause: schema.Clean(fmt.Sprint(cause), 200), Stack: debug.Stack()}
}
