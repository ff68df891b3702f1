package scenario

import (
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"stoic/test/faults/history"
	"stoic/test/faults/oracle"
)

const (
	operatorLabel   = "test.example.com/operator"
	ownerAnnotation = "test.example.com/owner"
)

// fooBars returns the operator of examples/operators/foobar.
func fooBars() *Operator {
	const deploy = "examples/operators/foobar/deploy/"
	return &Operator{
		Name: "foobar", Package: "./examples/operators/foobar/cmd",
		Args: []string{"--kubeconfig", "{kubeconfig}", "--namespace", "{namespace}", "--metrics-bind-address", "0", "--health-probe-bind-address", "0"},
		User: "system:serviceaccount:test-operators:foobar-operator", Permissions: []string{deploy + "namespace.yaml", deploy + "rbac.yaml"},
		// These schemas accept anything: a malformed FooBar must reach the operator. It watches ClusterFooBars, too.
		CRDs:       []string{"test/fixtures/foobars-open.yaml", "test/fixtures/clusterfoobars-open.yaml"},
		Resource:   fooBarResource(),
		Dependents: []schema.GroupVersionResource{core("configmaps")},
		Rules: oracle.Rules{
			Status: fooBarStatus,
			Owner:  fooBarOwner,
		},
		Scenarios: fooBarScenarios(),
	}
}

func isForeign(u *unstructured.Unstructured) bool { return u.GetLabels()[operatorLabel] != "foobar" }

func fooBarResource() schema.GroupVersionResource {
	return schema.GroupVersionResource{Group: "test.example.com", Version: "v1alpha1", Resource: "foobars"}
}

func fooBarScenarios() []Scenario {
	const (
		here  = "{namespace}/{name}-"
		there = "{elsewhere}/{name}-"
		toB   = `{"spec":{"target":"{name}-b"}}`
		wrong = `{"spec":{"target":7}}`
	)
	done := func(target string) Check { return all(isReady(target), configMaps(target)) }
	return []Scenario{
		{Name: "foobar-target", Manifest: fooBar(""),
			Steps: []Step{edit("another target", isReady(here+"a"), toB), edit("another type", done(here+"b"), `{"spec":{"type":"Link"}}`)},
			End:   done(here + "b")},
		// The second edit is made while the first is being carried out: what existed before both must be deleted nevertheless.
		{Name: "foobar-target-twice", Manifest: fooBar(""),
			Steps: []Step{edit("another target", isReady(here+"a"), toB), edit("a third target", exists(here+"b"), `{"spec":{"target":"{name}-c"}}`)},
			End:   done(here + "c")},
		{Name: "foobar-elsewhere", Manifest: fooBar("{elsewhere}"),
			Steps: []Step{edit("another target", isReady(there+"a"), toB), edit("its own namespace", done(there+"b"), `{"spec":{"targetNamespace":null}}`),
				edit("the other one again", done(here+"b"), `{"spec":{"targetNamespace":"{elsewhere}"}}`)},
			End: done(there + "b")},
		{Name: "foobar-deleted", Manifest: fooBar("{elsewhere}"),
			Steps: []Step{edit("another target", isReady(there+"a"), toB), drop(metav1.DeletePropagationBackground, done(there+"b"))},
			End:   hasNothing},
		{Name: "foobar-repaired", Paths: []string{"spec.target"}, Manifest: fooBar("{elsewhere}"),
			Steps: []Step{edit("malformed", isReady(there+"a"), wrong), edit("repair", all(isRejected("spec.target"), configMaps(there+"a")), toB)},
			End:   done(there + "b")},
	}
}

// fooBar returns the manifest of a FooBar whose ConfigMap is in that namespace, or in the FooBar's own if that is "".
func fooBar(namespace string) func(string) string {
	return func(name string) string {
		spec := "target: " + name + "-a"
		if namespace != "" {
			spec += `, targetNamespace: "` + namespace + `"`
		}
		return fmt.Sprintf("{apiVersion: test.example.com/v1alpha1, kind: FooBar, metadata: {name: %s}, spec: {%s}}", name, spec)
	}
}

// isReady: the status is of the current spec, is Ready, and names that ConfigMap.
func isReady(target string) Check {
	return func(v history.View) (bool, string) {
		return history.Is(v.Job, "Ready") && isObserved(v.Job) && onRecord(v.Job) == fill(target, v.Subject),
			fmt.Sprintf("want it ready with %s, on record is %s; %s", target, onRecord(v.Job), describe(v))
	}
}

// onRecord returns the ConfigMap that the status names.
func onRecord(u *unstructured.Unstructured) string {
	if u == nil {
		return ""
	}
	namespace, _, _ := unstructured.NestedString(u.Object, "status", "targetNamespace")
	name, _, _ := unstructured.NestedString(u.Object, "status", "target")
	return namespace + "/" + name
}

func nameOf(u *unstructured.Unstructured) string { return u.GetNamespace() + "/" + u.GetName() }

// configMaps: these ConfigMaps of the operator exist, and no others.
func configMaps(wanted ...string) Check {
	return func(v history.View) (bool, string) {
		var found, want []string
		for _, u := range v.Dependents {
			if !isForeign(u) {
				found = append(found, nameOf(u))
			}
		}
		for _, w := range wanted {
			want = append(want, fill(w, v.Subject))
		}
		return slices.Equal(found, want), fmt.Sprintf("want the ConfigMaps %v; %s", want, describe(v))
	}
}

// exists: a ConfigMap of that name exists.
func exists(name string) Check {
	return func(v history.View) (bool, string) {
		found := slices.ContainsFunc(v.Dependents, func(u *unstructured.Unstructured) bool { return nameOf(u) == fill(name, v.Subject) })
		return found, "want " + name + "; " + describe(v)
	}
}

// fooBarStatus returns the whole status except times and the wording of conditions.
func fooBarStatus(u *unstructured.Unstructured) map[string]any {
	var conditions []string
	for _, c := range history.Conditions(u) {
		conditions = append(conditions, fmt.Sprintf("%s=%s (%s)", c.Type, c.Status, c.Reason))
	}
	return map[string]any{"observed": isObserved(u), "target": onRecord(u), "conditions": strings.Join(conditions, ", ")}
}

// fooBarOwner returns the owner of a ConfigMap: its controller owner, or the one in the annotation if that is in another namespace.
func fooBarOwner(u *unstructured.Unstructured) types.UID {
	if owner := history.Owner(u); owner != "" {
		return owner
	}
	words := strings.Fields(u.GetAnnotations()[ownerAnnotation])
	if len(words) == 0 {
		return ""
	}
	return types.UID(words[len(words)-1])
}
