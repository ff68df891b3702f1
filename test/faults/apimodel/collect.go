package apimodel

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Step is one thing that the garbage collector can do next. It is valid until the next commit.
type Step struct {
	What string // the same words for the same thing
	Do   func()
}

// stored is an object with its store.
type stored struct {
	*object
	store *store
}

func (s stored) String() string { return s.store.Plural + " " + s.meta.Namespace + "/" + s.meta.Name }

// all returns every object, in an order that depends only on the model.
func (w *Model) all() (found []stored) {
	for _, r := range w.resources {
		s := w.stores[r.Plural]
		for _, key := range s.keys() {
			found = append(found, stored{s.objects[key], s})
		}
	}
	return found
}

// Collect returns what the garbage collector can do now, in an order that depends only on the model. If it returns nothing, the
// collector is at rest. The model does not look for cycles of owners.
func (w *Model) Collect() []Step {
	var steps []Step
	for _, o := range w.all() {
		steps = append(steps, w.stepsOfOwner(o)...)
		if step := w.stepOfDependent(o); step != nil {
			steps = append(steps, *step)
		}
	}
	return steps
}

// stepsOfOwner returns the steps for an object that is being deleted and waits for its dependents.
func (w *Model) stepsOfOwner(o stored) (steps []Step) {
	if o.meta.DeletionTimestamp == nil || !has(o.meta, metav1.FinalizerOrphanDependents) && !has(o.meta, metav1.FinalizerDeleteDependents) {
		return nil
	}
	dependents := w.dependents(o.object)
	switch {
	case has(o.meta, metav1.FinalizerOrphanDependents) && len(dependents) > 0:
		for _, d := range dependents {
			steps = append(steps, Step{"orphan " + d.String() + " of " + o.String(), func() { w.disown(d, o.meta.UID) }})
		}
	case has(o.meta, metav1.FinalizerOrphanDependents):
		steps = append(steps, w.finish(o, metav1.FinalizerOrphanDependents))
	case !slices.ContainsFunc(dependents, func(d stored) bool { return blocks(d, o.meta.UID) }):
		steps = append(steps, w.finish(o, metav1.FinalizerDeleteDependents))
	}
	return steps
}

// finish removes the finalizer.
func (w *Model) finish(o stored, finalizer string) Step {
	return Step{"take " + finalizer + " off " + o.String(), func() {
		left := slices.DeleteFunc(slices.Clone(o.meta.Finalizers), func(f string) bool { return f == finalizer })
		if len(left) == 0 && (o.meta.DeletionGracePeriodSeconds == nil || *o.meta.DeletionGracePeriodSeconds == 0) {
			w.commit(o.store, o.object, nil)
			return
		}
		tree := unfold(o.tree)
		setFinalizers(tree, left)
		w.settle(o.store, o.object, tree)
	}}
}

// dependents returns the objects in the namespace that name the owner's UID.
func (w *Model) dependents(owner *object) (found []stored) {
	for _, o := range w.all() {
		names := func(r metav1.OwnerReference) bool { return r.UID == owner.meta.UID }
		if o.meta.Namespace == owner.meta.Namespace && slices.ContainsFunc(o.meta.OwnerReferences, names) {
			found = append(found, o)
		}
	}
	return found
}

// blocks reports whether the owner waits for the deletion of a dependent.
func blocks(d stored, owner types.UID) bool {
	return slices.ContainsFunc(d.meta.OwnerReferences, func(r metav1.OwnerReference) bool {
		return r.UID == owner && r.BlockOwnerDeletion != nil && *r.BlockOwnerDeletion
	})
}

// disown removes the references to some owners from a dependent.
func (w *Model) disown(d stored, owners ...types.UID) {
	tree := unfold(d.tree)
	setOwners(tree, slices.DeleteFunc(slices.Clone(d.meta.OwnerReferences), func(r metav1.OwnerReference) bool { return slices.Contains(owners, r.UID) }))
	w.settle(d.store, d.object, tree)
}

// stepOfDependent returns the step for an object whose owners no longer exist, or wait for its deletion.
func (w *Model) stepOfDependent(o stored) *Step {
	if len(o.meta.OwnerReferences) == 0 || o.meta.DeletionTimestamp != nil {
		return nil
	}
	var left []types.UID // owners that keep it no longer
	waits := false
	for _, r := range o.meta.OwnerReferences {
		owner, known := w.owner(o.object, r)
		switch {
		case !known:
			return nil // the collector cannot look it up, and retries
		case owner == nil:
			left = append(left, r.UID)
		case owner.meta.DeletionTimestamp != nil && has(owner.meta, metav1.FinalizerDeleteDependents):
			left = append(left, r.UID)
			waits = true
		}
	}
	switch {
	case len(left) == 0:
		return nil
	case len(left) < len(o.meta.OwnerReferences):
		return &Step{"disown " + o.String(), func() { w.disown(o, left...) }}
	}
	policy := metav1.DeletePropagationBackground
	switch {
	case waits && len(w.dependents(o.object)) > 0, has(o.meta, metav1.FinalizerDeleteDependents):
		policy = metav1.DeletePropagationForeground
	case has(o.meta, metav1.FinalizerOrphanDependents):
		policy = metav1.DeletePropagationOrphan
	}
	return &Step{"collect " + o.String(), func() {
		// Nothing was written since, so no precondition can fail.
		_, _, _ = w.remove(o.store, o.object, &metav1.DeleteOptions{PropagationPolicy: &policy})
	}}
}

// owner returns the owner that a reference names, nil if it does not exist. known is false if its kind is unknown.
func (w *Model) owner(o *object, r metav1.OwnerReference) (owner *object, known bool) {
	for _, resource := range w.resources {
		if resource.Kind != r.Kind || resource.apiVersion() != r.APIVersion {
			continue
		}
		namespace := o.meta.Namespace
		if !resource.Namespaced {
			namespace = ""
		}
		owner := w.stores[resource.Plural].objects[namespace+"/"+r.Name]
		if owner == nil || owner.meta.UID != r.UID {
			return nil, true
		}
		return owner, true
	}
	return nil, false
}
