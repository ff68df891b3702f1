package scenario

import (
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"stoic/test/faults/oracle"
)

// Operator is an operator that the rig tests, with one group of its kinds: how it is installed and started, what it serves, which
// scenarios its objects have, and what must hold in them. Paths are relative to the root of the checkout.
type Operator struct {
	Name    string
	Package string   // what is built
	Args    []string // of its command line; see test/operator.Options
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

// Resources returns what a history of these scenarios must watch.
func Resources(scenarios []Scenario) []schema.GroupVersionResource {
	found := map[schema.GroupVersionResource]bool{core("events"): true}
	for _, s := range scenarios {
		for _, r := range slices.Concat([]schema.GroupVersionResource{s.Resource}, s.Operator.Dependents, s.Operator.Unwatched) {
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
