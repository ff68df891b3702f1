package foobarset

import (
	"flag"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/validation"

	"stoic/schema"
	"stoic/test/decision"
)

var update = flag.Bool("update", false, "write the plans of testdata anew")

// TestDecide compares the plans for the FooBarSets and FooBarTasks in testdata.
func TestDecide(t *testing.T) { decision.Golden(t, Watches(), 25, *update) }

// planned returns the names of the tasks that a set without tasks gets.
func planned(t *testing.T, name string, spec any) (names []string, plan schema.Plan) {
	t.Helper()
	plan = decision.Decide(t, Watches(), object("FooBarSet", name, spec))
	for _, o := range plan.Create {
		names = append(names, o.Name)
	}
	return names, plan
}

// TestNames: the name of a task is legal for its Job and for a label of the Job's pods, and differs even for sets whose long
// names differ only at the end.
func TestNames(t *testing.T) {
	spec := map[string]any{"template": map[string]any{"image": "a:1"}, "count": int64(1000)}
	seen := map[string]string{}
	for _, set := range []string{"a", "a.b", strings.Repeat("a", 48), strings.Repeat("a", 49), strings.Repeat("a", 253), strings.Repeat("a", 252) + "b",
		strings.Repeat("a", 36) + "." + strings.Repeat("a", 30), strings.Repeat("a", 36) + "-" + strings.Repeat("b", 30)} {
		names, _ := planned(t, set, spec)
		for _, name := range names {
			if len(name) > 62 || len(validation.IsDNS1123Subdomain(name)) > 0 || len(validation.IsValidLabelValue(name)) > 0 {
				t.Errorf("set %s: the task %s: %v", set, name, validation.IsDNS1123Subdomain(name))
			}
			if seen[name] != "" {
				t.Errorf("sets %s and %s: both have a task %s", set, seen[name], name)
			}
			seen[name] = set
		}
	}
}

// TestManyTasks: a set with the maximum number of tasks gets them in steps, and one with more is rejected before the number is
// used.
func TestManyTasks(t *testing.T) {
	spec := func(count int64) any {
		return map[string]any{"count": count, "template": map[string]any{"image": "a:1"}}
	}
	if names, _ := planned(t, "web", spec(mostTasks)); len(names) != mostCreated {
		t.Errorf("%d tasks at once", len(names))
	}
	for _, count := range []int64{mostTasks + 1, 1<<31 - 1, 1 << 40, -1} {
		if names, plan := planned(t, "web", spec(count)); len(names) > 0 || plan.Rule != invalid || plan.Events[0].FieldPath != "spec.count" {
			t.Errorf("count %d: rule %s, %d tasks, events %v", count, plan.Rule, len(names), plan.Events)
		}
	}
	if allocated := testing.AllocsPerRun(10, func() { planned(t, "web", spec(1<<31-1)) }); allocated > 5000 {
		t.Errorf("a huge count costs %v allocations", allocated)
	}
}

func object(kind, name string, spec any) *unstructured.Unstructured {
	u := &unstructured.Unstructured{Object: map[string]any{"apiVersion": group + "/v1alpha1", "kind": kind, "metadata": map[string]any{"namespace": "team", "name": name}}}
	if spec != nil {
		u.Object["spec"] = spec
	}
	return u
}
