package scenario

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"

	"stoic/examples/operators/foo"
	"stoic/test/faults/history"
	"stoic/test/faults/oracle"
)

// foos returns the operator of examples/operators/foo.
func foos() *Operator {
	const deploy = "examples/operators/foo/deploy/"
	return &Operator{Name: "foo", Package: "./examples/operators/foo/cmd", Args: exampleArgs(),
		User: "system:serviceaccount:test-operators:foo-operator", Permissions: []string{deploy + "namespace.yaml", deploy + "rbac.yaml"},
		CRDs:     []string{"test/fixtures/foos-open.yaml"},
		Resource: schema.GroupVersionResource{Group: "samplecontroller.k8s.io", Version: "v1alpha1", Resource: "foos"}, Dependents: []schema.GroupVersionResource{deployments()},
		Rules: oracle.Rules{Settled: conditionsSettled("Ready"), Restores: func(u *unstructured.Unstructured) bool { return history.Is(u, "Ready") },
			Status: statusWith("availableReplicas"), Owner: history.Owner, Writes: func(reference int) int { return 2*reference + 16 },
			Always: []func(*oracle.Case) []string{deploymentFirst}},
		Statuses: map[string]any{
			"nothing at all":         nil,
			"no conditions":          map[string]any{"conditions": []any{}},
			"a condition of its own": map[string]any{"conditions": []any{map[string]any{"type": "Weather", "status": "Unknown"}}},
			"a future generation":    map[string]any{"observedGeneration": 77},
			"available of a string":  map[string]any{"availableReplicas": "many"},
		},
		Contents: map[string]map[string]any{"deployments": {"more replicas": map[string]any{"spec": map[string]any{"replicas": 3}}, "none": map[string]any{"spec": map[string]any{"replicas": 0}}}},
		Labels:   []string{"samplecontroller.k8s.io/operator"},
		Foreign: func(u *unstructured.Unstructured) bool {
			return u.GetLabels()["samplecontroller.k8s.io/operator"] != "foo"
		},
		Goals: []string{"G1", "G3", "G4", "G6", "G11", "G14", "G18"}, Share: 24, Sample: []string{"foo-renamed", "foo-foreign"}, Scenarios: fooScenarios(), Watches: foo.Watches,
	}
}

// exampleArgs returns the arguments of operators that package program runs.
func exampleArgs() []string {
	return []string{"--kubeconfig", "{kubeconfig}", "--namespace", "{namespace}", "--metrics-bind-address", "0", "--health-probe-bind-address", "0", "{flags}"}
}

func deployments() schema.GroupVersionResource {
	return schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "deployments"}
}

func fooScenarios() []Scenario {
	const path = "spec.replicas"
	toB, malformed := `{"spec":{"deploymentName":"{name}-b"}}`, `{"spec":{"replicas":"3"}}`
	known := all(was("Stalled"), reported(path))
	done := func(deployment string, replicas int64) Check {
		return all(available(replicas), sized(deployment, replicas))
	}
	again := Scenario{Name: "foo-delete-create", Writes: 14, Manifest: fooManifest, End: done("a", 1)}
	once := again
	again.Steps = []Step{drop(metav1.DeletePropagationBackground, done("a", 1)), anew(once)}
	again.End = all(again.End, secondOf("Deployment", "a"))
	return []Scenario{
		{Name: "foo-created", Writes: 6, Manifest: fooManifest, End: done("a", 1)},
		{Name: "foo-renamed", Writes: 14, Manifest: fooManifest,
			Steps: []Step{edit("another name", done("a", 1), toB), edit("more replicas", done("b", 1), `{"spec":{"replicas":2}}`)}, End: done("b", 2)},
		{Name: "foo-renamed-twice", Writes: 16, Manifest: fooManifest,
			Steps: []Step{edit("another name", done("a", 1), toB), edit("a third name", there("b"), `{"spec":{"deploymentName":"{name}-c"}}`)}, End: done("c", 1)},
		{Name: "foo-foreign", Writes: 16, Manifest: fooManifest,
			Steps: []Step{somebodyElsesDeployment(done("a", 1)), edit("a name that is taken", there("taken"), `{"spec":{"deploymentName":"{name}-taken"}}`),
				edit("another name", all(warned("NameConflict"), there("a")), toB)},
			End: all(done("b", 1), there("taken"))},
		{Name: "foo-repaired", Writes: 12, Paths: []string{path}, Manifest: fooManifest,
			Steps: []Step{spoil(done("a", 1), malformed), edit("repair", all(known, there("a")), `{"spec":{"replicas":2}}`)}, End: done("a", 2)},
		{Name: "foo-malformed", Writes: 8, Paths: []string{path}, Manifest: fooManifest,
			Steps: []Step{spoil(done("a", 1), malformed)}, End: all(known, sized("a", 1))},
		{Name: "foo-deleted", Writes: 12, Manifest: fooManifest,
			Steps: []Step{edit("another name", done("a", 1), toB), drop(metav1.DeletePropagationForeground, there("b"))}, End: nothing},
		again,
	}
}

func fooManifest(name string) string {
	return fmt.Sprintf("{apiVersion: samplecontroller.k8s.io/v1alpha1, kind: Foo, metadata: {name: %s}, spec: {deploymentName: %s-a, replicas: 1}}", name, name)
}

// available: the status is of the current spec and says that the Foo is ready with so many pods.
func available(replicas int64) Check {
	return func(v history.View) (bool, string) {
		var n int64
		if v.Job != nil {
			n, _, _ = unstructured.NestedInt64(v.Job.Object, "status", "availableReplicas")
		}
		return history.Is(v.Job, "Ready") && observed(v.Job) && n == replicas, fmt.Sprintf("want it ready with %d, there are %d; %s", replicas, n, describe(v))
	}
}

// sized: this is the only Deployment of the operator, and has that size.
func sized(name string, replicas int64) Check {
	return func(v history.View) (bool, string) {
		var found []string
		for _, u := range v.Dependents {
			if u.GetKind() == "Deployment" && u.GetLabels()["samplecontroller.k8s.io/operator"] == "foo" {
				n, _, _ := unstructured.NestedInt64(u.Object, "spec", "replicas")
				found = append(found, fmt.Sprintf("%s=%d", u.GetName(), n))
			}
		}
		want := fmt.Sprintf("[%s-%s=%d]", v.Name, name, replicas)
		return fmt.Sprint(found) == want, fmt.Sprintf("want the Deployments %s, found %v; %s", want, found, describe(v))
	}
}

// there: a dependent of that name exists, whoever owns it.
func there(name string) Check {
	return func(v history.View) (bool, string) {
		return slices.ContainsFunc(v.Dependents, func(u *unstructured.Unstructured) bool { return u.GetName() == v.Name+"-"+name }), "want " + name + "; " + describe(v)
	}
}

// secondOf: the object of that kind and name is the second one, and the existing object of the run controls it.
func secondOf(kind, name string) Check {
	return func(v history.View) (bool, string) {
		return v.Job != nil && slices.ContainsFunc(v.Dependents, func(u *unstructured.Unstructured) bool {
			return u.GetKind() == kind && u.GetName() == v.Name+"-"+name && v.Incarnations[u.GetUID()] == 2 && history.Owner(u) == v.Job.GetUID()
		}), fmt.Sprintf("want the second %s %s; %s", kind, name, describe(v))
	}
}

// somebodyElsesDeployment creates a foreign Deployment with a name that the Foo will need.
func somebodyElsesDeployment(when Check) Step {
	return Step{Name: "somebody else creates a Deployment", When: either(there("taken"), when), Do: func(ctx context.Context, a Actor) error {
		labels := map[string]any{"whose": "mine"}
		u := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "apps/v1", "kind": "Deployment", "spec": map[string]any{"replicas": 0, "selector": map[string]any{"matchLabels": labels},
			"template": map[string]any{"metadata": map[string]any{"labels": labels}, "spec": map[string]any{"containers": []any{map[string]any{"name": "mine", "image": "mine:1"}}}}}}}
		u.SetName(a.Job + "-taken")
		return a.store(ctx, a.Client.Resource(deployments()).Namespace(a.Namespace), u)
	}}
}

// conditionsSettled: the condition, or Stalled, is True for the current spec.
func conditionsSettled(of string) func(*unstructured.Unstructured) bool {
	return func(u *unstructured.Unstructured) bool {
		return observed(u) && (history.Is(u, of) || history.Is(u, "Stalled"))
	}
}

// statusWith returns these fields of a status, and its conditions without times and wording.
func statusWith(fields ...string) func(*unstructured.Unstructured) map[string]any {
	return func(u *unstructured.Unstructured) map[string]any {
		var conditions []string
		for _, c := range history.Conditions(u) {
			conditions = append(conditions, fmt.Sprintf("%s=%s (%s)", c.Type, c.Status, c.Reason))
		}
		found := map[string]any{"observed": observed(u), "conditions": strings.Join(conditions, ", ")}
		for _, field := range fields {
			if value, ok, _ := unstructured.NestedFieldCopy(u.Object, "status", field); ok {
				found[field] = value
			}
		}
		return found
	}
}

// deploymentFirst: the operator deletes a Deployment of a Foo that is not being deleted only if another one of the Foo exists.
func deploymentFirst(c *oracle.Case) []string {
	return successors(c, deployments(), func(_ *unstructured.Unstructured, others []*unstructured.Unstructured) bool { return len(others) > 0 })
}

// successors: the operator deletes an object of a resource, if its subject is not being deleted, only if enough other objects of the
// subject exist. An object that another client has just taken over counts: the operator cannot have seen that before it sent the deletion.
func successors(c *oracle.Case, of schema.GroupVersionResource, enough func(subject *unstructured.Unstructured, others []*unstructured.Unstructured) bool) (found []string) {
	const moment = time.Second
	var subject *unstructured.Unstructured
	var objects []*unstructured.Unstructured
	lost := map[types.UID]time.Time{} // when another client took over a dependent
	for _, v := range c.Versions {
		same := func(u *unstructured.Unstructured) bool { return u.GetUID() == v.Object.GetUID() }
		isOurs := func(u *unstructured.Unstructured) bool { return subject != nil && history.Owner(u) == subject.GetUID() }
		switch {
		case c.Is(v) && v.Type == watch.Deleted:
			subject = nil
		case c.Is(v):
			subject = v.Object
		case v.Resource != of:
		case v.Type == watch.Deleted:
			objects = slices.DeleteFunc(objects, same)
			if subject == nil || subject.GetDeletionTimestamp() != nil || !isOurs(v.Object) || !c.Deleted(v) {
				continue
			}
			others := slices.DeleteFunc(slices.Clone(objects), func(u *unstructured.Unstructured) bool {
				at, taken := lost[u.GetUID()]
				return !isOurs(u) && !(taken && v.At.Sub(at) < moment)
			})
			if !enough(subject, others) {
				found = append(found, fmt.Sprintf("%s %s is deleted while there are only %d others, at resourceVersion %s", v.Object.GetKind(), v.Object.GetName(), len(others), v.Object.GetResourceVersion()))
			}
		default:
			if slices.ContainsFunc(objects, func(u *unstructured.Unstructured) bool { return same(u) && isOurs(u) && !isOurs(v.Object) }) {
				lost[v.Object.GetUID()] = v.At
			}
			objects = append(slices.DeleteFunc(objects, same), v.Object)
		}
	}
	return found
}
