// Command engine serves Foos with the engine of this repository.
package main

import (
	"os"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"stoic/controller"
	"stoic/controller/program"
	"stoic/schema"
	foov1 "stoic/tools/comparison/api/comparison/v1"
)

func main() {
	foos := schema.Resource{Group: "comparison.example.com", Version: "v1", Plural: "foos", Kind: "Foo"}
	owns := []*controller.Owned{{Resource: deployments(), Selector: "operator=foo", Labels: labels, Slim: slim, Relabel: true,
		Reasons: controller.Reasons{Created: "DeploymentCreated", CreateFailed: "DeploymentFailed", UpdateFailed: "DeploymentFailed", DeleteFailed: "DeploymentFailed"}}}
	p := program.Program{Name: "foo-operator", Short: "Keeps the Deployments of Foos.", Watches: []controller.Watch{controller.Typed(foos, decide, owns)}}
	os.Exit(p.Main(os.Args, os.Stdout, os.Stderr))
}

func deployments() schema.Resource {
	return schema.Resource{Group: "apps", Version: "v1", Plural: "deployments", Kind: "Deployment"}
}

func labels(foo *schema.Head) map[string]string { return map[string]string{"operator": "foo"} }

type replicas struct{ wanted, available int64 } // of a Deployment

func slim(u *unstructured.Unstructured) any {
	wanted, _, _ := unstructured.NestedInt64(u.Object, "spec", "replicas")
	available, _, _ := unstructured.NestedInt64(u.Object, "status", "availableReplicas")
	return replicas{wanted, available}
}

func decide(foo *foov1.Foo, o controller.Observed) controller.Plan {
	status, _ := o.Head.Status.(*foov1.FooStatus)
	plan, stalled := controller.Plan{Rule: "Ready"}, metav1.Condition{Type: "Stalled", Status: metav1.ConditionFalse, Reason: "ValidSpec"}
	next := *status
	if foo == nil { // malformed: what there is stays
		plan.Rule, plan.Events = "Rejected", schema.RejectionEvents(o, schema.RejectedSince(o, status.Conditions, stalled.Type))
		stalled.Status, stalled.Reason = metav1.ConditionTrue, "InvalidSpec"
		stalled.Message = schema.Summarize(o.Rejection.Problems, o.Rejection.More, "the Deployment stays as it is", "Edit the Foo to retry.")
	} else {
		at := o.Child(deployments(), foo.Namespace, foo.Spec.DeploymentName)
		if want := int64(foo.Spec.Replicas); at == nil {
			plan.Rule, plan.Create = "Create", []schema.Object{{Resource: deployments(), Namespace: foo.Namespace, Name: foo.Spec.DeploymentName, Body: body(o.Head, foo)}}
		} else if found := at.Object.(replicas); found.wanted != want {
			plan.Rule, plan.Patch = "Scale", []schema.Patch{at.Patch(deployments(), map[string]any{"spec": map[string]any{"replicas": want}})}
		} else {
			next.AvailableReplicas = int32(found.available)
		}
	}
	next.Conditions = schema.Conditions(status.Conditions, o.Head.Meta.Generation, o.Now, stalled)
	if !equality.Semantic.DeepEqual(status, &next) {
		plan.Status = &next
	}
	return plan
}

func body(head *schema.Head, foo *foov1.Foo) []byte {
	pods := map[string]string{"foo": foo.Name}
	return schema.JSON(map[string]any{"apiVersion": "apps/v1", "kind": "Deployment", "metadata": schema.ChildMeta(head, foo.Namespace, foo.Spec.DeploymentName, labels(head), ""),
		"spec": map[string]any{"replicas": foo.Spec.Replicas, "selector": map[string]any{"matchLabels": pods}, "template": map[string]any{
			"metadata": map[string]any{"labels": pods}, "spec": map[string]any{"containers": []any{map[string]any{"name": "web", "image": "nginx:1.29"}}}}}})
}
