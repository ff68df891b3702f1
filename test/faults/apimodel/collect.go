package apimodel

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Step is one thing that the garbage collector can do next. It is valid until the next commit.
type Step struct {
	What string // the same words for the same thing
	Do   func()
}

// Collect returns what the garbage collector can do now, in an order that depends only on the model. If it returns nothing, the
// collector is at rest. Where the real one's workers race, several states of rest can be reached.
func (w *Model) Collect() []Step {
	var steps []Step
	for _, r := range w.resources {
		s := w.stores[r.Plural]
		for _, key := range s.keys() {
			o := s.objects[key]
			steps = append(steps, w.ofOwner(s, o)...)
			if step := w.ofDependent(s, o); step != nil {
				steps = append(steps, *step)
			}
		}
	}
	return steps
}

// ofOwner returns the steps for an object that is being deleted after its dependents.
func (w *Model) ofOwner(s *store, o *object) (steps []Step) {
	if o.meta.DeletionTimestamp == nil {
		return nil
	}
	of := s.Plural + " " + o.meta.Namespace + "/" + o.meta.Name
	if has(o.meta, metav1.FinalizerOrphanDependents) {
		for _, d := range w.dependents(o) {
			steps = append(steps, Step{"orphan " + d.name() + " of " + of, func() { w.disown(d, o.meta) }})
		}
		if len(steps) == 0 {
			steps = append(steps, w.finish(s, o, metav1.FinalizerOrphanDependents, of))
		}
		return steps
	}
	if !has(o.meta, metav1.FinalizerDeleteDependents) {
		return nil
	}
	if !slices.ContainsFunc(w.dependents(o), func(d dependent) bool { return blocking(d.reference) }) {
		steps = append(steps, w.finish(s, o, metav1.FinalizerDeleteDependents, of))
	}
	return steps
}

// finish removes the finalizer.
func (w *Model) finish(s *store, o *object, finalizer, of string) Step {
	return Step{"take " + finalizer + " off " + of, func() {
		left := slices.DeleteFunc(slices.Clone(o.meta.Finalizers), func(f string) bool { return f == finalizer })
		tree := unfold(o.tree)
		setFinalizers(tree, left)
		if len(left) == 0 && (o.meta.DeletionGracePeriodSeconds == nil || *o.meta.DeletionGracePeriodSeconds == 0) {
			w.commit(s, o, nil)
		} else {
			w.settle(s, o, tree)
		}
	}}
}

// dependent of an owner.
type dependent struct {
	store     *store
	object    *object
	reference metav1.OwnerReference
}

func (d dependent) name() string {
	return d.store.Plural + " " + d.object.meta.Namespace + "/" + d.object.meta.Name
}

// dependents returns the objects in the namespace that name the owner's UID.
func (w *Model) dependents(owner *object) (found []dependent) {
	for _, r := range w.resources {
		s := w.stores[r.Plural]
		for _, key := range s.keys() {
			o := s.objects[key]
			for _, reference := range o.meta.OwnerReferences {
				if reference.UID == owner.meta.UID && o.meta.Namespace == owner.meta.Namespace {
					found = append(found, dependent{s, o, reference})
					break
				}
			}
		}
	}
	return found
}

// disown removes the references to some owners from a dependent.
func (w *Model) disown(d dependent, owners ...*metav1.ObjectMeta) {
	tree := unfold(d.object.tree)
	references, _ := metaOf(tree)["ownerReferences"].([]any)
	var left []any
	for i, r := range references {
		gone := func(m *metav1.ObjectMeta) bool { return m.UID == d.object.meta.OwnerReferences[i].UID }
		if !slices.ContainsFunc(owners, gone) {
			left = append(left, r)
		}
	}
	if metaOf(tree)["ownerReferences"] = left; len(left) == 0 {
		delete(metaOf(tree), "ownerReferences")
	}
	w.settle(d.store, d.object, tree)
}

// unblock clears blockOwnerDeletion in the owner references of an object, so that its owners do not wait for its deletion.
func (w *Model) unblock(s *store, o *object) {
	owners := slices.Clone(o.meta.OwnerReferences)
	for i := range owners {
		if blocking(owners[i]) {
			owners[i].BlockOwnerDeletion = new(false)
		}
	}
	tree := unfold(o.tree)
	metaOf(tree)["ownerReferences"] = references(owners)
	w.settle(s, o, tree)
}

func blocking(r metav1.OwnerReference) bool {
	return r.BlockOwnerDeletion != nil && *r.BlockOwnerDeletion
}

// blocks reports whether an owner waits for the object's deletion.
func blocks(o *object) bool { return slices.ContainsFunc(o.meta.OwnerReferences, blocking) }

// seenInForeground reports whether the collector has seen the dependent being deleted in the foreground.
func (w *Model) seenInForeground(d dependent) bool { return w.foreground[string(d.object.meta.UID)] }

// ofDependent returns the step for an object whose owners no longer exist, or wait for its deletion.
func (w *Model) ofDependent(s *store, o *object) *Step {
	if len(o.meta.OwnerReferences) == 0 || o.meta.DeletionTimestamp != nil {
		return nil
	}
	var left []*metav1.ObjectMeta // owners that keep it no longer
	solid, waiting := 0, 0
	for _, r := range o.meta.OwnerReferences {
		owner, known := w.owner(o, r)
		switch {
		case !known:
			return nil // the collector cannot look it up, and retries
		case owner == nil:
			left = append(left, &metav1.ObjectMeta{UID: r.UID})
		case owner.meta.DeletionTimestamp != nil && has(owner.meta, metav1.FinalizerDeleteDependents):
			left = append(left, owner.meta)
			waiting++
		default:
			solid++
		}
	}
	name := s.Plural + " " + o.meta.Namespace + "/" + o.meta.Name
	switch {
	case solid > 0 && len(left) == 0:
		return nil
	case solid > 0:
		return &Step{"disown " + name, func() { w.disown(dependent{store: s, object: o}, left...) }}
	}
	policy := metav1.DeletePropagationBackground
	switch dependents := w.dependents(o); {
	case waiting > 0 && blocks(o) && slices.ContainsFunc(dependents, w.seenInForeground):
		// The collector assumes a cycle. It changes the references first. Then its deletion is rejected, since the object has
		// changed, and it looks at the object again later: the owner may no longer exist by then.
		return &Step{"unblock " + name, func() { w.unblock(s, o) }}
	case waiting > 0 && len(dependents) > 0, has(o.meta, metav1.FinalizerDeleteDependents):
		policy = metav1.DeletePropagationForeground
	case has(o.meta, metav1.FinalizerOrphanDependents):
		policy = metav1.DeletePropagationOrphan
	}
	return &Step{"collect " + name, func() {
		// Nothing was written since, so no precondition can fail.
		_, _, _ = w.remove(s, o, &metav1.DeleteOptions{PropagationPolicy: &policy})
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
