package scenario

import (
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"stoic/test/faults/oracle"
)

// Operator is an operator that the rig tests, with one group of its kinds: how it is installed and started, what it serves, which
// scenarios its objects have, and what must hold in them. Paths are relative to the root of the checkout.
type Operator struct {
	Name    string
	Package string   // what is built
	Args    []string // of its command line; see sandbox.Options.Operator
	// User is the service account that the operator runs as, and Permissions are the manifests that grant it its rights.
	User        string
	Permissions []string
	CRDs        []string
	// Resource is that of its objects, unless a scenario names another; Dependents are those of their dependents.
	Resource   schema.GroupVersionResource
	Dependents []schema.GroupVersionResource
	// Unwatched are the resources of dependents that the operator creates and never reads again.
	Unwatched []schema.GroupVersionResource
	Rules     oracle.Rules
	// Statuses are what the operator never writes into a status, as merge patches, by name.
	Statuses map[string]any
	// Labels are those of dependents by which the operator knows them. Selected is the one without which it does not see them, if
	// it does not restore that label. OwnerAnnotation names the owner of a dependent that no owner reference reaches. Ledger is
	// an annotation of the object itself whose content must not be lost. "": there is none. Others edit all of them (G11).
	Labels          []string
	Selected        string
	OwnerAnnotation string
	Ledger          string
	// IsForeign reports whether an object that looks like a dependent is the user's; nil: there is none.
	IsForeign func(*unstructured.Unstructured) bool
	// Goals whose cases are tried, such as G1; nil is all.
	Goals     []string
	Scenarios []Scenario
}

// Operators returns all operators that the rig tests.
func Operators() []*Operator {
	all := []*Operator{training(), fooBars(), mpiV2Beta1()}
	for _, o := range all {
		for i := range o.Scenarios {
			s := &o.Scenarios[i]
			s.Operator = o
			if s.Resource.Empty() {
				s.Resource = o.Resource
			}
		}
	}
	return all
}

// All returns all scenarios, operator by operator.
func All() (all []Scenario) {
	for _, o := range Operators() {
		all = append(all, o.Scenarios...)
	}
	return all
}

// Own returns the dependents among some objects, without the foreign ones.
func (o *Operator) Own(objects []*unstructured.Unstructured) []*unstructured.Unstructured {
	return slices.DeleteFunc(slices.Clone(objects), func(u *unstructured.Unstructured) bool {
		return o.IsForeign != nil && o.IsForeign(u)
	})
}

// AllDependents returns the resources of all dependents, including those that the operator does not watch.
func (o *Operator) AllDependents() []schema.GroupVersionResource {
	return slices.Concat(o.Dependents, o.Unwatched)
}

// Resources returns what a history of these scenarios must watch.
func Resources(scenarios []Scenario) []schema.GroupVersionResource {
	found := map[schema.GroupVersionResource]bool{core("events"): true}
	for _, s := range scenarios {
		for _, r := range slices.Concat([]schema.GroupVersionResource{s.Resource}, s.Operator.AllDependents(), s.Dependents) {
			found[r] = true
		}
	}
	return slices.SortedFunc(maps.Keys(found), func(a, b schema.GroupVersionResource) int {
		return strings.Compare(a.String(), b.String())
	})
}

// core returns a resource of the core group.
func core(plural string) schema.GroupVersionResource {
	return schema.GroupVersionResource{Version: "v1", Resource: plural}
}
