package plans

import (
	"maps"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"

	"stoic/test/faults/history"
	"stoic/test/faults/scenario"
)

// TestContentsAreJSON: what others write into a dependent is a patch whose numbers are those of JSON, whoever wrote it down, and it is
// each plan's own.
func TestContentsAreJSON(t *testing.T) {
	looked := 0
	for _, o := range scenario.Operators() {
		for _, c := range contents(o) {
			looked++
			first := (&unstructured.Unstructured{Object: c.patch(nil)}).DeepCopy().Object // it panics where a number is of another type
			if len(first) == 0 {
				t.Errorf("%s: %s changes nothing", o.Name, c.name)
			}
			clear(c.patch(nil))
			if len(c.patch(nil)) != len(first) {
				t.Errorf("%s: %s is shared by all plans", o.Name, c.name)
			}
		}
	}
	if looked < 5 {
		t.Errorf("%d contents", looked)
	}
}

// TestMayRecreate: a child that was taken away for a while may be made again, with what others made for it; what was only edited may not.
func TestMayRecreate(t *testing.T) {
	of := func(owner string) map[string]any {
		return map[string]any{"metadata": map[string]any{"ownerReferences": []any{map[string]any{"apiVersion": "v1", "kind": "X", "name": "x", "uid": owner, "controller": true}}}}
	}
	jobs := schema.GroupVersionResource{Group: "batch", Version: "v1", Resource: "jobs"}
	run := history.Of(aJob(), version(1, watch.Added, jobs, "j-launcher", "launcher", of("job")), version(2, watch.Added, core("pods"), "j-launcher-a", "a", of("launcher")),
		version(3, watch.Added, core("pods"), "j-worker-0", "w", of("job")))
	for name, c := range map[string]struct {
		change change
		want   map[string]int
	}{
		"the Job is hidden":      {change{hides: true}, map[string]int{"jobs": 1, "pods": 1}},
		"its owner is another's": {change{disowns: true}, map[string]int{"jobs": 1, "pods": 1}},
		"it is edited":           {change{content: true}, map[string]int{"pods": 1}},
		"a label":                {change{}, nil},
		"the status":             {change{status: true, forgets: true}, nil},
	} {
		a := &Attempt{Plan: Plan{Scenario: scenario.All()[0]}, Run: run}
		a.mayRecreate(c.change, run.View().Dependents[0])
		if got := a.limits().Recreated; !maps.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
	for _, sc := range scenario.All() {
		for _, p := range tamperings(sc, learned().references[sc.Name]) {
			if p.spared["O2"] != "" {
				t.Fatalf("%s: objects are not counted", p.Name())
			}
		}
	}
}
