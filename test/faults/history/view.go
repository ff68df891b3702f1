package history

import (
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
)

// View is what exists of a run at one moment. Absent objects are nil; lists are sorted by name. The objects are read-only.
type View struct {
	Subject                            // also if it does not exist
	Job     *unstructured.Unstructured // the object of the subject: a job, or what another operator serves
	// Pods, Services, and all dependents that are neither.
	Pods, Services, Dependents []*unstructured.Unstructured
	Events                     []*unstructured.Unstructured
	// Incarnations gives, for each object, how many objects of its name existed up to and including it: 1, 2, ...
	Incarnations map[types.UID]int
}

// Pod returns the pod of that name, or nil; of a generated name, the latest one with that prefix.
func (v View) Pod(name string) *unstructured.Unstructured { return named(v.Pods, name) }

// Service returns the service of that name, or nil.
func (v View) Service(name string) *unstructured.Unstructured { return named(v.Services, name) }

// Children returns all dependents: pods, services, and the others.
func (v View) Children() []*unstructured.Unstructured {
	return slices.Concat(v.Pods, v.Services, v.Dependents)
}

// Dependent returns the first dependent of a kind, or nil.
func (v View) Dependent(kind string) *unstructured.Unstructured {
	for _, u := range v.Dependents {
		if u.GetKind() == kind {
			return u
		}
	}
	return nil
}

func named(list []*unstructured.Unstructured, name string) *unstructured.Unstructured {
	var found *unstructured.Unstructured
	for _, u := range list {
		if u.GetName() == name {
			return u
		}
		if NameOf(u) == name+"-"+Generated && (found == nil || Revision(u) > Revision(found)) {
			found = u
		}
	}
	return found
}

// Condition is one condition of a job.
type Condition struct{ Type, Status, Reason, Message, Changed string }

// Conditions returns the conditions of a job, or of a pod, in the order of its status. Malformed fields are empty.
func Conditions(u *unstructured.Unstructured) []Condition {
	if u == nil {
		return nil
	}
	list, _, _ := unstructured.NestedSlice(u.Object, "status", "conditions")
	found := make([]Condition, 0, len(list))
	for _, c := range list {
		m, _ := c.(map[string]any)
		text := func(field string) string { s, _ := m[field].(string); return s }
		found = append(found, Condition{text("type"), text("status"), text("reason"), text("message"), text("lastTransitionTime")})
	}
	return found
}

// State returns the last condition of a job that is True; the zero value if there is none, or no job.
func State(job *unstructured.Unstructured) (last Condition) {
	for _, c := range Conditions(job) {
		if c.Status == "True" {
			last = c
		}
	}
	return last
}

// Is reports whether the condition of that type is True.
func Is(u *unstructured.Unstructured, condition string) bool {
	for _, c := range Conditions(u) {
		if c.Type == condition {
			return c.Status == "True"
		}
	}
	return false
}

// Phase returns the phase of a pod, or of a pod group.
func Phase(u *unstructured.Unstructured) string {
	if u == nil {
		return ""
	}
	phase, _, _ := unstructured.NestedString(u.Object, "status", "phase")
	return phase
}

// Owner returns the UID of the object that controls this one, or "".
func Owner(u *unstructured.Unstructured) types.UID {
	for _, o := range u.GetOwnerReferences() {
		if o.Controller != nil && *o.Controller {
			return o.UID
		}
	}
	return ""
}
