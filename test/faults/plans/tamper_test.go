package plans

import (
	"context"
	"maps"
	"strconv"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"

	"stoic/test/faults/history"
	"stoic/test/faults/scenario"
)

// TestContentsAreJSON: a patch of a dependent has the number types of decoded JSON, whatever its source has, and each plan has
// its own copy.
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

// TestMayRecreate: a child that was removed for a while may be recreated, with what others created for it; a child that was only
// edited may not.
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

// TestAwaitRepair: a plan continues when a dependent, or its successor, has its content again. A state from before the edit is no repair.
func TestAwaitRepair(t *testing.T) {
	role := func(at float64, uid, verb string) history.Version {
		v := version(at, watch.Modified, schema.GroupVersionResource{Group: "rbac.authorization.k8s.io", Version: "v1", Resource: "roles"}, "j-launcher", uid,
			map[string]any{"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role", "rules": []any{map[string]any{"verbs": []any{verb}}}})
		v.Object.SetResourceVersion(strconv.Itoa(int(at)))
		return v
	}
	gone := role(6, "first", "all")
	gone.Type = watch.Deleted
	was, now := role(4, "first", "get").Object, role(5, "first", "all").Object
	for name, c := range map[string]struct {
		versions []history.Version
		repaired bool
	}{
		"repaired":                 {[]history.Version{role(4, "first", "get"), role(5, "first", "all"), role(6, "first", "get")}, true},
		"made again":               {[]history.Version{role(5, "first", "all"), gone, role(7, "second", "get")}, true},
		"not repaired":             {[]history.Version{role(4, "first", "get"), role(5, "first", "all")}, false},
		"deleted":                  {[]history.Version{role(5, "first", "all"), gone}, false},
		"the edit is not seen yet": {[]history.Version{role(4, "first", "get")}, false},
	} {
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		a := &Attempt{Plan: Plan{Scenario: scenario.All()[0]}, Run: history.Of(aJob(), c.versions...)}
		if err := a.awaitRepair(ctx, was, now); (err == nil) != c.repaired {
			t.Errorf("%s: %v", name, err)
		}
		cancel()
	}
}
