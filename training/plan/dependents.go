package plan

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"stoic/schema"
	"stoic/training"
)

// keep creates, updates and deletes dependent objects. It does not touch an object of the job with a name that the kind
// never uses: a user created it by hand.
//
//	wanted  stored                         action
//	no      yes                            delete it
//	yes     no                             create it; if it is Shared, only if there is no pod yet
//	yes     being deleted                  wait for the name
//	yes     yes, and differs               patch what differs
//	yes     yes, and differs in an         delete it; it is created again when the name is free
//	        immutable member
//	yes     unknown                        report why, if the cause is known
//
// The creation of an object may wait for its replica type (Late), and its update for the next status (Lazy). The pods of the
// replica type in Before wait until the stored object is up to date.
func (d *draft) keep(wanted []training.Dependent) {
	for i := range d.Dependents {
		if stored := &d.Dependents[i]; !d.isWanted(wanted, stored) {
			d.deleteDependent(stored)
		}
	}
	for i := range wanted {
		dependent := &wanted[i]
		if slices.Contains(d.Head.Kind.Unwatched, dependent.Resource) {
			continue // see createUnwatched
		}
		stored, unseen := d.stored(dependent)
		switch {
		case unseen != nil:
			d.unavailableEvent(unseen, dependent.Gate != training.NoGate)
		case stored == nil && dependent.Late && !d.isNeededBy(dependent.Before):
		case stored == nil && !d.isThere(wanted, dependent.Behind):
		case stored == nil && dependent.Shared && len(d.Pods) > 0: // it may be a foreign object, which is not in the cache; the pods use it
		case stored == nil:
			d.plan.Create = append(d.plan.Create, d.dependent(dependent))
		case !stored.Deleting && !d.repair(dependent, stored):
			continue
		}
		d.held = append(d.held, dependent.Before)
	}
}

// isThere reports whether the job's own objects of a resource exist.
func (d *draft) isThere(wanted []training.Dependent, r schema.Resource) bool {
	return !slices.ContainsFunc(wanted, func(e training.Dependent) bool {
		stored, _ := d.stored(&e)
		return e.Resource == r && (stored == nil || stored.Deleting)
	})
}

// isNeededBy reports whether a replica type has a pod, or may get one.
func (d *draft) isNeededBy(name string) bool {
	return slices.ContainsFunc(d.replicas, func(r replica) bool {
		return r.replicaType.Name == name && (r.pod != nil || d.isTurnOf(r.replicaType))
	})
}

// isReadBy reports whether a replica type has a pod.
func (d *draft) isReadBy(name string) bool {
	return slices.ContainsFunc(d.replicas, func(r replica) bool { return r.replicaType.Name == name && r.pod != nil })
}

// rest deletes the dependent objects of a job that is suspended or over, except those that stay.
func (d *draft) rest() {
	d.Dependents = slices.DeleteFunc(slices.Clone(d.Dependents), func(stored training.StoredDependent) bool {
		return training.FormOf(stored.Resource).Stays
	})
	d.keep(nil)
}

func (d *draft) isWanted(wanted []training.Dependent, stored *training.StoredDependent) bool {
	return slices.ContainsFunc(wanted, func(e training.Dependent) bool {
		return e.Resource == stored.Resource && d.nameOf(&e) == stored.Name
	})
}

// nameOf returns the name of a dependent object.
func (d *draft) nameOf(e *training.Dependent) string { return cmp.Or(e.Name, d.Head.Meta.Name) }

// deleteDependent deletes an object if it has a name that the kind uses.
func (d *draft) deleteDependent(stored *training.StoredDependent) {
	behind, ours := strings.CutPrefix(stored.Name, d.Head.Meta.Name)
	if ours && !stored.Deleting && (behind == "" || slices.Contains(d.Head.Kind.DependentNames, behind)) {
		d.plan.Delete = append(d.plan.Delete, Deletion{Resource: stored.Resource, Namespace: d.Head.Meta.Namespace, Name: stored.Name, UID: stored.UID})
	}
}

// stored returns the job's object of that name, or nil if there is none. unseen is set if the resource is unavailable.
func (d *draft) stored(e *training.Dependent) (stored *training.StoredDependent, unseen *training.Unavailable) {
	for i := range d.Unavailable {
		if d.Unavailable[i].Resource == e.Resource {
			return nil, &d.Unavailable[i]
		}
	}
	for i := range d.Dependents {
		if d.Dependents[i].Resource == e.Resource && d.Dependents[i].Name == d.nameOf(e) {
			return &d.Dependents[i], nil
		}
	}
	return nil, nil
}

// repair plans the patch or deletion of an object that differs from the desired one, and reports whether it differs.
func (d *draft) repair(e *training.Dependent, stored *training.StoredDependent) (differs bool) {
	form := training.FormOf(e.Resource)
	patch := contentDifferences(form, e.Content, stored.Content)
	for _, member := range form.Fixed {
		if patch[member] != nil {
			d.plan.Delete = append(d.plan.Delete, Deletion{Resource: stored.Resource, Namespace: d.Head.Meta.Namespace, Name: stored.Name, UID: stored.UID,
				ResourceVersion: stored.ResourceVersion})
			return true
		}
	}
	if spec := differences(e.Spec, stored.Spec); len(spec) > 0 {
		patch["spec"] = schema.JSON(spec)
	}
	if len(patch) > 0 && !(e.Lazy && d.isReadBy(e.Before) && d.statusWaits() > 0) {
		update := d.update(stored, patch)
		update.Follows = e.Follows
		d.plan.Patch = append(d.plan.Patch, update)
	}
	return len(patch) > 0
}

// dependent returns the object to create.
func (d *draft) dependent(e *training.Dependent) schema.Object {
	labels := raw(e.Labels)
	maps.Copy(labels, raw(map[string]string{training.LabelOperator: d.Head.Kind.Controller, training.LabelJob: d.Head.Meta.Name}))
	meta := owned(d.Job, d.nameOf(e), labels)
	body := maps.Clone(e.Content)
	if body == nil {
		body = map[string]json.RawMessage{}
	}
	for member, once := range e.ContentOnce {
		body[member] = joined(body[member], once)
	}
	if e.Spec != nil {
		spec := maps.Clone(e.Spec)
		maps.Copy(spec, e.Once)
		maps.DeleteFunc(spec, func(_ string, value json.RawMessage) bool { return present(value) == nil })
		body["spec"] = schema.JSON(spec)
	}
	body["apiVersion"], body["kind"], body["metadata"] = quote(e.Resource.APIVersion()), quote(e.Resource.Kind), schema.JSON(meta)
	return schema.Object{Resource: e.Resource, Namespace: meta.Namespace, Name: meta.Name, Body: schema.JSON(body), Generate: e.Generate, Shared: e.Shared}
}

// createUnwatched adds the unwatched dependent objects to a plan that creates pods. They precede the pods that need them. If
// one exists already, its creation costs a request that the API server rejects.
func (d *draft) createUnwatched(wanted []training.Dependent) {
	pods := slices.ContainsFunc(d.plan.Create, func(o schema.Object) bool { return o.Resource == schema.Pods() || o.Resource == schema.Jobs() })
	if !pods {
		return
	}
	var first []schema.Object
	for i := range wanted {
		if slices.Contains(d.Head.Kind.Unwatched, wanted[i].Resource) {
			first = append(first, d.dependent(&wanted[i]))
		}
	}
	d.plan.Create = append(first, d.plan.Create...)
}

// joined returns the members of two objects, or the second value if the first is not an object with members.
func joined(first, second json.RawMessage) json.RawMessage {
	all := object(first)
	if len(all) == 0 {
		return second
	}
	maps.Copy(all, object(second))
	return schema.JSON(all)
}

func (d *draft) update(stored *training.StoredDependent, patch map[string]json.RawMessage) Patch {
	patch["metadata"] = schema.JSON(struct {
		UID             string `json:"uid"`
		ResourceVersion string `json:"resourceVersion"`
	}{string(stored.UID), stored.ResourceVersion})
	return Patch{Resource: stored.Resource, Namespace: d.Head.Meta.Namespace, Name: stored.Name, UID: stored.UID, ResourceVersion: stored.ResourceVersion,
		Body: schema.JSON(patch)}
}

const (
	// admitWithin is how soon a scheduler usually admits a group. Only what takes longer is reported.
	admitWithin = 10 * time.Second
	// notAdmitted is the phase of a group that waits; an empty phase has the same meaning.
	notAdmitted = "Pending"
)

// open reports whether pods may be created: the gates of all dependent objects are open. Nothing is polled: an event of
// a dependent object enqueues the job.
func (d *draft) open(dependents []training.Dependent) bool {
	for i := range dependents {
		dependent := &dependents[i]
		stored, unseen := d.stored(dependent)
		switch {
		case dependent.Gate == training.NoGate:
		case unseen != nil:
			return false
		case dependent.Late: // those who need it wait for it: see keep
		case stored == nil, stored.Deleting:
			return false
		case dependent.Gate == training.GateAdmitted && isUnadmitted(stored):
			d.notAdmittedEvent(stored)
			return false
		}
	}
	return true
}

// isUnadmitted reports whether the scheduler has not admitted a group yet.
func isUnadmitted(group *training.StoredDependent) bool {
	return group.Phase == "" || group.Phase == notAdmitted
}

// notAdmittedEvent reports, once for each generation, why there are no pods.
func (d *draft) notAdmittedEvent(stored *training.StoredDependent) {
	age := d.Now.Sub(stored.Created)
	if age >= 0 && age < admitWithin {
		d.requeue(admitWithin - age)
		return
	}
	phase := "has no phase"
	if stored.Phase != "" {
		phase = "is " + stored.Phase
	}
	d.event(corev1.EventTypeNormal, training.ReasonPodGroupNotAdmitted, "",
		fmt.Sprintf("%s %s %s: its scheduler has not admitted it; pods are made when it has", stored.Resource.Kind, stored.Name, phase),
		d.generation(), d.now)
}

func (d *draft) unavailableEvent(unseen *training.Unavailable, gate bool) {
	if unseen.Why == "" {
		return
	}
	consequence := "the job goes on without it"
	if gate {
		consequence = "no pods are made until that changes"
	}
	d.event(corev1.EventTypeWarning, training.DependentReasonsOf(unseen.Resource).Unavailable, "",
		fmt.Sprintf("no %s for the job: %s; %s", unseen.Resource.Kind, strings.TrimSuffix(unseen.Why, "."), consequence), d.generation(), d.now)
}
