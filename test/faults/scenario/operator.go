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

// Operator is one that the rig takes: how it is installed and started, what it serves, which scenarios its objects have, and
// what must hold in these. Paths are seen from the root of the checkout.
type Operator struct {
	Name    string
	Package string   // what is built
	Args    []string // of its command line; see sandbox.Options.Operator
	// Processes are the further flags of each process of an operator that runs as several: faults kill one of them.
	Processes [][]string
	// User is the service account that the operator runs as, and Permissions are the manifests that allow it something.
	User        string
	Permissions []string
	CRDs        []string
	// Resource of its objects, unless a scenario names another, and of their dependents.
	Resource   schema.GroupVersionResource
	Dependents []schema.GroupVersionResource
	// Unwatched are the resources of dependents that the operator creates and never reads again.
	Unwatched []schema.GroupVersionResource
	// Apart: a CRD of it has the name of another operator's, so it needs a control plane of its own.
	Apart bool
	// Converted: a kind is served in all its versions, by a webhook of the same program; nil: none is.
	Converted *Conversion
	Rules     oracle.Rules
	// Statuses that the operator never writes, as merge patches, by what they are called.
	Statuses map[string]any
	// Contents that others write into a dependent and that the operator puts right, as merge patches, by the plural of its
	// resource and what they are called.
	Contents map[string]map[string]any
	// Labels of dependents by which the operator knows them; Selected is the one without which it does not see them, if it does not
	// put it back. OwnerAnnotation names the owner of a dependent that no owner reference reaches; Ledger is an annotation of the
	// object itself that holds what must not be lost. "": there is none. Others edit all of them (G11).
	Labels                            []string
	Selected, OwnerAnnotation, Ledger string
	// Foreign: an object that looks like a dependent, and is the user's; nil: there is none.
	Foreign func(*unstructured.Unstructured) bool
	// Goals whose plans are tried, such as G1; nil is all.
	Goals []string
	// Share: of the fixed sample this operator has one part in so many of what the training operator has.
	Share int
	// Sample are the scenarios that the fixed sample takes plans from; nil is all.
	Sample []string
	// Basics: every request of every scenario meets a 409, a 500 and a lost answer in each run of everything, before samples
	// of the other faults are drawn.
	Basics bool
	// Watches are those of the operator. Objects of their resources are malformed in every way (G7), and what the cluster shows of
	// one is compared with what its converter says of it; nil: none are.
	Watches func() []watch.Watch
	// Valid are manifests of objects that are malformed, by name, as those of a scenario; nil: those of the scenarios.
	Valid []func(name string) string
	// Schemas is the file or folder of the CRDs as they are installed, which declare types; "": the folder deploy/crd beside that
	// of the package.
	Schemas string
	// Canary: healthy jobs beside its plans are timed.
	Canary    bool
	Scenarios []Scenario
}

// Conversion says how a kind is served in all its versions.
type Conversion struct {
	Kind versions.Kind
	// Folder has the CRDs that are installed, and File is that of the kind in it.
	Folder, File string
	// Command is the subcommand of the operator's program that serves the webhook.
	Command []string
}

// Operators are all that the rig takes.
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

// All scenarios, operator by operator.
func All() (all []Scenario) {
	for _, o := range Operators() {
		all = append(all, o.Scenarios...)
	}
	return all
}

// Own lists the dependents among some objects; what is foreign is none.
func (o *Operator) Own(objects []*unstructured.Unstructured) []*unstructured.Unstructured {
	return slices.DeleteFunc(slices.Clone(objects), func(u *unstructured.Unstructured) bool { return o.Foreign != nil && o.Foreign(u) })
}

// Timed: healthy jobs beside this run are timed.
func (s Scenario) Timed() bool { return s.Operator.Canary && len(s.Flags) == 0 }

// Sampled: the fixed sample takes plans from this scenario.
func (s Scenario) Sampled() bool {
	return s.Operator.Sample == nil || slices.Contains(s.Operator.Sample, s.Name)
}

// Resources lists what a history of these scenarios must watch.
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

// core is a resource of the core group.
func core(plural string) schema.GroupVersionResource {
	return schema.GroupVersionResource{Version: "v1", Resource: plural}
}
