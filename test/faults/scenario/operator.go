package scenario

import (
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"stoic/controller/watch"
	"stoic/convert/versions"
	"stoic/test/faults/oracle"
)

// Operator is an operator that the rig tests: how it is installed and started, what it serves, which scenarios its objects have,
// and what must hold in them. Paths are relative to the root of the checkout.
type Operator struct {
	Name    string
	Package string   // what is built
	Args    []string // of its command line; see sandbox.Options.Operator
	// Processes are the additional flags of each process of an operator that runs as several: faults kill one of them.
	Processes [][]string
	// User is the service account that the operator runs as, and Permissions are the manifests that grant it its rights.
	User        string
	Permissions []string
	CRDs        []string
	// Resource is that of its objects, unless a scenario names another; Dependents are those of their dependents.
	Resource   schema.GroupVersionResource
	Dependents []schema.GroupVersionResource
	// Unwatched are the resources of dependents that the operator creates and never reads again.
	Unwatched []schema.GroupVersionResource
	// Apart: one of its CRDs has the name of another operator's, so it needs its own control plane.
	Apart bool
	// Converted: a webhook of the same program serves a kind in all its versions; nil: there is none.
	Converted *Conversion
	Rules     oracle.Rules
	// Statuses that the operator never writes, as merge patches, by name.
	Statuses map[string]any
	// Contents that others write into a dependent and that the operator repairs, as merge patches, by the plural of the resource
	// and by name.
	Contents map[string]map[string]any
	// Labels are those of dependents by which the operator knows them. Selected is the one without which it does not see them, if
	// it does not restore that label. OwnerAnnotation names the owner of a dependent that no owner reference reaches. Ledger is
	// an annotation of the object itself whose content must not be lost. "": there is none. Others edit all of them (G11).
	Labels                            []string
	Selected, OwnerAnnotation, Ledger string
	// Foreign reports whether an object that looks like a dependent is the user's; nil: there is none.
	Foreign func(*unstructured.Unstructured) bool
	// Goals whose plans are tried, such as G1; nil is all.
	Goals []string
	// Share: the fixed sample tries 1/Share as many plans of this operator as of the training operator.
	Share int
	// Sample are the scenarios whose plans the fixed sample may try; nil is all.
	Sample []string
	// Basics: in each full run every request of every scenario meets a 409, a 500 and a lost answer, before samples of the other
	// faults are drawn.
	Basics bool
	// Watches are those of the operator. Objects of their resources are malformed in every way (G7), and the state of each in the
	// cluster is compared with the result of its converter; nil: none are.
	Watches func() []watch.Watch
	// Valid returns, by name, manifests of objects to malform, like those of a scenario; nil: those of the scenarios.
	Valid []func(name string) string
	// Schemas is the file or folder of the installed CRDs, which declare types; "": the folder deploy/crd beside that of the package.
	Schemas string
	// Canary: healthy jobs beside its plans are timed.
	Canary    bool
	Scenarios []Scenario
}

// Conversion describes how a kind is served in all its versions.
type Conversion struct {
	Kind versions.Kind
	// Folder has the CRDs that are installed, and File is the one of the kind in it.
	Folder, File string
	// Command is the subcommand of the operator's program that serves the webhook.
	Command []string
}

// Operators returns all operators that the rig tests.
func Operators() []*Operator {
	all := []*Operator{training(), fooBars(), cronTabs(), myDeployments(), mpi(), mpiV2Beta1(), trainingConverted(), fooBarSets(), fooBarSetsApart(), foos()}
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
	return slices.DeleteFunc(slices.Clone(objects), func(u *unstructured.Unstructured) bool { return o.Foreign != nil && o.Foreign(u) })
}

// Timed reports whether healthy jobs beside this run are timed.
func (s Scenario) Timed() bool { return s.Operator.Canary && len(s.Flags) == 0 }

// Sampled reports whether the fixed sample tries plans of this scenario.
func (s Scenario) Sampled() bool {
	return s.Operator.Sample == nil || slices.Contains(s.Operator.Sample, s.Name)
}

// Resources returns what a history of these scenarios must watch.
func Resources(scenarios []Scenario) []schema.GroupVersionResource {
	found := map[schema.GroupVersionResource]bool{core("events"): true}
	for _, s := range scenarios {
		for _, r := range slices.Concat([]schema.GroupVersionResource{s.Resource}, s.Operator.Dependents, s.Operator.Unwatched, s.Dependents) {
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
