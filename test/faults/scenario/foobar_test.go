package scenario

import (
	"fmt"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/yaml"

	"stoic/test/faults/history"
	"stoic/test/faults/proxy"
)

// object returns one version of an object. Its text, if any, is the rest of the object in YAML.
func object(t *testing.T, namespace, name string, version int, kind, uid string, text []string) *unstructured.Unstructured {
	t.Helper()
	u := &unstructured.Unstructured{Object: map[string]any{}}
	if len(text) > 0 {
		data, err := yaml.YAMLToJSON([]byte(text[0]))
		if err == nil {
			err = json.Unmarshal(data, &u.Object) // whole numbers as they come from an API server
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	u.SetKind(kind)
	u.SetNamespace(namespace)
	u.SetName(name)
	u.SetUID(types.UID(uid))
	u.SetResourceVersion(fmt.Sprint(version))
	return u
}

// recorded returns the run of these versions: each line is "TYPE KIND NAMESPACE/NAME UID" and more in YAML.
func recorded(t *testing.T, lines ...string) *history.Run {
	t.Helper()
	versions := versionsOf(t, 0, map[string]schema.GroupVersionResource{"FooBar": fooBarResource("foobars"), "ConfigMap": core("configmaps")}, lines)
	return history.Of(history.Subject{Resource: fooBarResource("foobars"), Namespace: "ns", Name: "f", Also: []string{"there"}}, versions...)
}

// TestFooBarRules: each of these histories breaks one rule, or none.
func TestFooBarRules(t *testing.T) {
	const (
		made    = "ADDED FooBar ns/f u {metadata: {finalizers: [test.example.com/cleanup]}}"
		recordA = "MODIFIED FooBar ns/f u {metadata: {finalizers: [test.example.com/cleanup]}, status: {target: f-a, targetNamespace: there}}"
		recordB = "MODIFIED FooBar ns/f u {metadata: {finalizers: [test.example.com/cleanup]}, status: {target: f-b, targetNamespace: there}}"
		going   = `MODIFIED FooBar ns/f u {metadata: {deletionTimestamp: "2026-01-01T00:00:00Z", finalizers: [test.example.com/cleanup]}, status: {target: f-b, targetNamespace: there}}`
		mine    = `{metadata: {labels: {test.example.com/operator: foobar}, annotations: {test.example.com/owner: "test.example.com/v1alpha1 FooBar ns/f u"}}, data: {foobar: f}}`
		a, b    = "ConfigMap there/f-a a " + mine, "ConfigMap there/f-b b " + mine
		foreign = "ConfigMap ns/f-taken x {data: {whose: mine}}"
	)
	for name, test := range map[string]struct {
		lines []string
		by    string // UID of what the operator deletes
		want  string
	}{
		"a change, and the end":      {[]string{made, "ADDED " + a, recordA, "ADDED " + b, recordB, "DELETED " + a, going, "DELETED " + b, "DELETED FooBar ns/f u"}, "a b", ""},
		"nothing to take its place":  {[]string{made, "ADDED " + a, recordA, "DELETED " + a}, "a", "ConfigMap there/f-a is deleted while there/f-a is on record"},
		"before the successor is on": {[]string{made, "ADDED " + a, recordA, "ADDED " + b, "DELETED " + a}, "a", "ConfigMap there/f-a is deleted while there/f-a is on record"},
		"before the successor is":    {[]string{made, "ADDED " + a, recordB, "DELETED " + a}, "a", "ConfigMap there/f-a is deleted while there/f-b is on record"},
		"deleted by somebody":        {[]string{made, "ADDED " + a, recordA, "DELETED " + a}, "", ""},
		"without a finalizer":        {[]string{"ADDED FooBar ns/f u", "ADDED " + a}, "", "ConfigMap there/f-a is created for a FooBar without a finalizer"},
		"without one, at home":       {[]string{"ADDED FooBar ns/f u", "ADDED ConfigMap ns/f-a a " + mine}, "", ""},
		"left behind":                {[]string{made, "ADDED " + a, recordA, "DELETED FooBar ns/f u", "DELETED " + a}, "a", "the FooBar goes before its ConfigMap there/f-a"},
		"somebody else's is left":    {[]string{made, "ADDED " + foreign}, "", ""},
		"somebody else's is written": {[]string{made, "ADDED " + foreign, "MODIFIED " + foreign}, "", "MODIFIED of the ConfigMap ns/f-taken, which is somebody else's"},
		"somebody else's is deleted": {[]string{made, "ADDED " + foreign, "DELETED " + foreign}, "x", "DELETED of the ConfigMap ns/f-taken, which is somebody else's"},
	} {
		t.Run(name, func(t *testing.T) {
			l := recorded(t, test.lines...)
			var journal []proxy.Entry
			for _, uid := range strings.Fields(test.by) {
				journal = append(journal, deletes("configmaps", uid))
			}
			breaks(t, test.want, fooBars(), l, journal, nil)
		})
	}
}

// TestFooBarSettled: an object whose status is of an older spec has not settled.
func TestFooBarSettled(t *testing.T) {
	for text, want := range map[string]bool{
		`{metadata: {generation: 2}, status: {observedGeneration: 2, conditions: [{type: Ready, status: "True"}]}}`:   true,
		`{metadata: {generation: 2}, status: {observedGeneration: 2, conditions: [{type: Stalled, status: "True"}]}}`: true,
		`{metadata: {generation: 2}, status: {observedGeneration: 1, conditions: [{type: Ready, status: "True"}]}}`:   false,
		`{metadata: {generation: 2}, status: {observedGeneration: 2, conditions: [{type: Ready, status: "False"}]}}`:  false,
		`{metadata: {generation: 2}}`: false,
	} {
		v := recorded(t, "ADDED FooBar ns/f u "+text).View()
		if got := fooBarSettled(v.Job); got != want {
			t.Errorf("%s: %v", text, got)
		}
	}
}

// TestFill: the places of a run of an object in one of them, and of a cluster-scoped object.
func TestFill(t *testing.T) {
	p := Places{"here", "there"}
	for _, cluster := range []bool{false, true} {
		s := Scenario{Cluster: cluster}.Subject(p, "f")
		if got := fill("{name} {namespace} {elsewhere} {other}", s); got != "f here there {other}" {
			t.Errorf("cluster-scoped %v: %s", cluster, got)
		}
	}
	if got := fill("{name: f}", (Scenario{}).Subject(Places{Namespace: "here"}, "f")); got != "{name: f}" {
		t.Errorf("no placeholder: %s", got)
	}
}

// TestOperators: the names of operators and scenarios are unique, and every operator has what the rig needs.
func TestOperators(t *testing.T) {
	names := map[string]bool{}
	for _, o := range Operators() {
		if names[o.Name] || o.Share < 1 || len(o.Dependents) == 0 || len(o.Statuses) == 0 || o.Rules.Settled == nil || o.Rules.Restores == nil ||
			o.Rules.Status == nil || o.Rules.Owner == nil || o.Rules.Writes == nil {
			t.Errorf("the operator %q lacks something", o.Name)
		}
		names[o.Name] = true
		for _, s := range o.Scenarios {
			if names[s.Name] || s.Operator != o || s.Resource.Empty() || strings.ContainsAny(s.Name, "/,") {
				t.Errorf("the scenario %q of %s", s.Name, o.Name)
			}
			names[s.Name] = true
			if strings.HasPrefix(o.Package, "./examples/") && s.Writes == 0 {
				t.Errorf("the scenario %q does not say how many writes it needs", s.Name)
			}
		}
	}
}
