package foobar

import (
	"cmp"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"stoic/controller"
	"stoic/convert"
	"stoic/schema"
)

const (
	group     = "test.example.com"
	label     = group + "/operator" // of all ConfigMaps of ours
	owner     = group + "/owner"    // names the FooBar of a ConfigMap in another namespace
	finalizer = group + "/cleanup"  // guards ConfigMaps that no owner reference reaches
)

func labels(*schema.Head) map[string]string { return map[string]string{label: "foobar"} }

type data struct { // of the ConfigMap
	FooBar string `json:"foobar"`
	Type   string `json:"type"`
}

// Watches returns the Watches of FooBars and of ClusterFooBars.
func Watches() []controller.Watch {
	owns := []*controller.Owned{{Resource: schema.ConfigMaps(), Selector: label + "=foobar", Labels: labels, Relabel: true, OwnerAnnotation: owner, Slim: slim,
		Reasons: controller.Reasons{Created: "ConfigMapCreated", CreateFailed: "ConfigMapFailed", UpdateFailed: "ConfigMapFailed", Deleted: "ConfigMapDeleted", DeleteFailed: "ConfigMapFailed"}}}
	return []controller.Watch{
		controller.Typed(schema.Resource{Group: group, Version: "v1alpha1", Plural: "foobars", Kind: "FooBar"}, func(_ *FooBar, o controller.Observed) controller.Plan { return decide(o) }, owns,
			convert.Default(func(f *FooBar) {
				f.Spec.Type = cmp.Or(f.Spec.Type, "Copy")
				f.Spec.TargetNamespace = cmp.Or(f.Spec.TargetNamespace, f.Namespace)
			})).InVersions(Versions()),
		controller.Typed(schema.Resource{Group: group, Version: "v1alpha1", Plural: "clusterfoobars", Kind: "ClusterFooBar", Cluster: true}, func(_ *ClusterFooBar, o controller.Observed) controller.Plan { return decide(o) }, owns,
			convert.Default(func(f *ClusterFooBar) { f.Spec.Type = cmp.Or(f.Spec.Type, "Copy") })),
	}
}

func slim(configMap *unstructured.Unstructured) any {
	found, _, _ := unstructured.NestedStringMap(configMap.Object, "data")
	return data{found["foobar"], found["type"]}
}

// decide returns what to write for one object. If its spec is malformed, the recorded ConfigMap stays; all others are deleted.
func decide(o controller.Observed) controller.Plan {
	if o.Head.Meta.DeletionTimestamp != nil {
		return cleanUp(o)
	}
	status, _ := o.Head.Status.(*FooBarStatus)
	ready, stalled, events := schema.Validity(o, status.Conditions, "the ConfigMap stays as it is")
	plan, keep, only, guarded := controller.Plan{Rule: "Rejected", Events: events}, recorded(status, o), true, false // only: no other ConfigMap stays
	if spec := specOf(o.Object); spec != nil {
		at := apply(spec, o, &plan, &ready)
		if only = at != nil; only {
			keep = at
		}
		guarded = !o.Head.Reaches(spec.TargetNamespace)
	}
	for _, c := range o.Of(schema.ConfigMaps()) {
		guarded = guarded || !o.Head.Reaches(c.Namespace)
		if only && !c.Deleting && c.UID != keep.UID { // keep is only nil if all are being deleted
			plan.Delete = append(plan.Delete, c.DeletionAsSeen(schema.ConfigMaps()))
		}
	}
	if guarded {
		plan.AddFinalizers = []string{finalizer}
	}
	next := &FooBarStatus{ObservedGeneration: o.Head.Meta.Generation, Conditions: schema.Conditions(status.Conditions, o.Head.Meta.Generation, o.Now, ready, stalled)}
	if keep != nil {
		next.Target, next.TargetNamespace = keep.Name, keep.Namespace
	}
	plan.Status, plan.Summary = next, ready.Reason
	return plan
}

// apply plans the writes for the ConfigMap of a spec, and returns the ConfigMap if it exists and is not being deleted.
func apply(spec *FooBarSpec, o controller.Observed, plan *controller.Plan, ready *metav1.Condition) *schema.Child {
	want, named := data{o.Head.Meta.Name, spec.Type}, "ConfigMap "+spec.TargetNamespace+"/"+spec.Target
	at := o.Child(schema.ConfigMaps(), spec.TargetNamespace, spec.Target)
	ready.Status = metav1.ConditionFalse
	switch {
	case at == nil:
		plan.Rule, plan.Create = "Create", []schema.Object{schema.NewChild(o.Head, schema.ConfigMaps(), spec.TargetNamespace, spec.Target, labels(o.Head), owner, map[string]any{"data": want})}
		ready.Reason, ready.Message = "Creating", named+" does not exist yet, or has another owner; in that case there is an event"
	case at.Deleting:
		plan.Rule, ready.Reason, ready.Message = "AwaitDeletion", "Deleting", named+" is being deleted; it is created again when it is gone"
		return nil
	case at.Object != want:
		plan.Rule, ready.Reason, ready.Message = "Update", "Updating", named+" has other data"
		plan.Patch = []schema.Patch{at.Patch(schema.ConfigMaps(), map[string]any{"data": want})}
	default:
		plan.Rule, ready.Status, ready.Reason, ready.Message = "Ready", metav1.ConditionTrue, "Exists", named+" is as the spec says"
	}
	return at
}

// specOf returns the spec of an object of either type; nil if it is malformed.
func specOf(object any) *FooBarSpec {
	switch object := object.(type) {
	case *FooBar:
		return &object.Spec
	case *ClusterFooBar:
		return (*FooBarSpec)(&object.Spec)
	}
	return nil
}

// cleanUp deletes what garbage collection does not, and then removes the finalizer.
func cleanUp(o controller.Observed) controller.Plan {
	plan, spec := controller.Plan{Rule: "CleanUp", RemoveFinalizers: []string{finalizer}}, specOf(o.Object)
	for _, r := range o.Refused { // an event reported the conflict, but not what happens to that ConfigMap
		if spec != nil && r.Cause == schema.CauseNameTaken && r.Namespace == spec.TargetNamespace && r.Name == spec.Target {
			plan.Events = []schema.Event{{Type: "Normal", Reason: "ConfigMapLeft", Message: "ConfigMap " + r.Namespace + "/" + r.Name + " has another owner and stays"}}
		}
	}
	for _, c := range o.Of(schema.ConfigMaps()) {
		if !o.Head.Reaches(c.Namespace) {
			plan.RemoveFinalizers = nil // not before its deletion was observed
			if !c.Deleting {
				plan.Delete = append(plan.Delete, c.DeletionAsSeen(schema.ConfigMaps()))
			}
		}
	}
	return plan
}

// recorded returns the ConfigMap that the status names. If there is no such ConfigMap, because another client has changed the
// status, it returns the oldest one, as a new one is created before the former one is deleted.
func recorded(status *FooBarStatus, o controller.Observed) (oldest *schema.Child) {
	if c := o.Child(schema.ConfigMaps(), status.TargetNamespace, status.Target); c != nil && !c.Deleting {
		return c
	}
	for _, c := range o.Of(schema.ConfigMaps()) {
		if !c.Deleting && (oldest == nil || cmp.Or(c.Created.Compare(oldest.Created), cmp.Compare(c.Namespace+"/"+c.Name, oldest.Namespace+"/"+oldest.Name)) < 0) {
			oldest = &c
		}
	}
	return oldest
}
