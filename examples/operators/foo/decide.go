package foo

import (
	"cmp"
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"stoic/controller"
	"stoic/convert"
	"stoic/schema"
)

const (
	group = "samplecontroller.k8s.io"
	label = group + "/operator"   // of all Deployments of ours
	named = group + "/deployment" // of the pods of one Deployment: its name
	image = "nginx:latest"        // what the sample runs
)

func labels(*schema.Head) map[string]string { return map[string]string{label: "foo"} }

type state struct{ replicas, available int32 } // of a Deployment, as the cache keeps it

// Watches returns the Watch of Foos.
func Watches() []controller.Watch {
	owns := []*controller.Owned{{Resource: schema.Deployments(), Selector: label + "=foo", Labels: labels, Relabel: true, Slim: slim,
		Reasons: controller.Reasons{Created: "DeploymentCreated", CreateFailed: "DeploymentFailed", UpdateFailed: "DeploymentFailed", Deleted: "DeploymentDeleted", DeleteFailed: "DeploymentFailed"}}}
	one := int32(1)
	return []controller.Watch{controller.Typed(schema.Resource{Group: group, Version: "v1alpha1", Plural: "foos", Kind: "Foo"}, decide, owns,
		convert.Default(func(f *Foo) { f.Spec.Replicas = cmp.Or(f.Spec.Replicas, &one) }))}
}

func slim(deployment *unstructured.Unstructured) any {
	number := func(fields ...string) int32 {
		found, _, _ := unstructured.NestedFieldNoCopy(deployment.Object, fields...)
		n, _ := convert.IntegerOf(found)
		return int32(n) // the API server accepts no larger one
	}
	return state{number("spec", "replicas"), number("status", "availableReplicas")}
}

// decide returns what to write for one Foo. If its spec is malformed, foo is nil and its Deployment stays as it is.
func decide(foo *Foo, o controller.Observed) controller.Plan {
	if o.Head.Meta.DeletionTimestamp != nil {
		return controller.Plan{Rule: "Deleted"} // garbage collection deletes the Deployment by its owner reference
	}
	status, _ := o.Head.Status.(*FooStatus)
	plan, ready, stalled := controller.Plan{}, metav1.Condition{Type: "Ready", Status: metav1.ConditionFalse}, metav1.Condition{Type: "Stalled", Status: metav1.ConditionFalse, Reason: "ValidSpec"}
	serving := slices.DeleteFunc(slices.Clone(o.Of(schema.Deployments())), func(c schema.Child) bool { return c.Deleting })
	if foo != nil {
		if at := apply(foo, o, &plan, &ready); at != nil { // it exists and is not being deleted, so all others can be deleted
			for _, c := range serving {
				if c.UID != at.UID {
					plan.Delete = append(plan.Delete, c.DeletionAsSeen(schema.Deployments()))
				}
			}
			serving = []schema.Child{*at}
		}
	} else {
		plan.Rule, plan.Events = "Rejected", schema.RejectionEvents(o, schema.RejectedSince(o, status.Conditions, stalled.Type))
		ready.Reason, ready.Message = "InvalidSpec", schema.Summarize(o.Rejection.Problems, o.Rejection.More, "the Deployment stays as it is", "Edit the Foo to retry.")
		stalled.Status, stalled.Reason, stalled.Message = metav1.ConditionTrue, ready.Reason, ready.Message
	}
	next := &FooStatus{ObservedGeneration: o.Head.Meta.Generation, Conditions: schema.Conditions(status.Conditions, o.Head.Meta.Generation, o.Now, ready, stalled)}
	for _, c := range serving { // more than one only while the Deployment is renamed
		next.AvailableReplicas += c.Object.(state).available
	}
	plan.Status, plan.Summary = next, ready.Reason
	return plan
}

// apply plans the writes for the Deployment of a spec, and returns the Deployment if it exists and is not being deleted.
func apply(foo *Foo, o controller.Observed, plan *controller.Plan, ready *metav1.Condition) *schema.Child {
	name, want, is := foo.Spec.DeploymentName, *foo.Spec.Replicas, state{}
	at, called := o.Child(schema.Deployments(), foo.Namespace, name), "Deployment "+foo.Namespace+"/"+name
	if at != nil {
		is = at.Object.(state)
	}
	refused := slices.IndexFunc(o.Refused, func(r schema.Refusal) bool { return r.Name == name })
	switch {
	case at == nil:
		plan.Rule, plan.Create = "Create", []schema.Object{{Resource: schema.Deployments(), Namespace: foo.Namespace, Name: name, Body: body(foo, o.Head)}}
		if ready.Reason, ready.Message = "Creating", called+" does not exist yet"; refused >= 0 { // NameTaken: it is somebody else's
			ready.Reason, ready.Message = string(o.Refused[refused].Cause), called+" is not created: "+o.Refused[refused].Message
		}
		return nil
	case at.Deleting:
		plan.Rule, ready.Reason, ready.Message = "AwaitDeletion", "Deleting", called+" is being deleted; it is created again when it is gone"
		return nil
	case is.replicas != want:
		plan.Rule, ready.Reason, ready.Message = "Scale", "Scaling", fmt.Sprintf("%s has %d replicas, and gets %d", called, is.replicas, want)
		plan.Patch = []schema.Patch{at.Patch(schema.Deployments(), map[string]any{"spec": map[string]any{"replicas": want}})}
	case is.available < want:
		plan.Rule, ready.Reason, ready.Message = "Await", "Unavailable", fmt.Sprintf("%s has %d of %d pods available", called, is.available, want)
	default:
		plan.Rule, ready.Status, ready.Reason, ready.Message = "Ready", metav1.ConditionTrue, "Available", called+" is as the spec says"
	}
	return at
}

// body returns the Deployment. Two Deployments of one Foo, while one replaces the other, select different pods.
func body(foo *Foo, head *schema.Head) []byte {
	pods := map[string]string{label: "foo", named: foo.Spec.DeploymentName}
	return schema.JSON(map[string]any{"apiVersion": "apps/v1", "kind": "Deployment", "metadata": schema.ChildMeta(head, foo.Namespace, foo.Spec.DeploymentName, labels(head), ""),
		"spec": map[string]any{"replicas": foo.Spec.Replicas, "selector": map[string]any{"matchLabels": pods}, "template": map[string]any{"metadata": map[string]any{"labels": pods},
			"spec": map[string]any{"containers": []any{map[string]any{"name": "nginx", "image": image}}}}}})
}
