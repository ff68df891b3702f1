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

// keep brings the dependent objects to what is wanted. One of ours with a name that its kind never gives is somebody's
// work by hand and is left alone.
//
//	wanted  there                          then
//	no      yes                            delete it
//	yes     no                             create it; one that may be somebody else's only if there is no pod yet
//	yes     being deleted                  wait for the name
//	yes     yes, and says something else   update what differs
//	yes     yes, and differs in what no    delete it; it is made again when the name is free
//	        update may change
//	yes     cannot be seen                 tell why, if that is known
//
// One for a replica type alone may wait for its turn (Late), and for the next status (Lazy). In all cases but that of an object that is as it is wanted, pods of the replica type for which it is there wait.
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
		case stored == nil && dependent.Shared && len(d.Pods) > 0: // it may be somebody else's, who is not seen; pods had it
		case stored == nil:
			d.plan.Create = append(d.plan.Create, d.dependent(dependent))
		case !stored.Deleting && !d.repair(dependent, stored):
			continue
		}
		d.held = append(d.held, dependent.Before)
	}
}

// isThere says whether the job's own objects of a resource are there.
func (d *draft) isThere(wanted []training.Dependent, r schema.Resource) bool {
	return !slices.ContainsFunc(wanted, func(e training.Dependent) bool {
		stored, _ := d.stored(&e)
		return e.Resource == r && (stored == nil || stored.Deleting)
	})
}

// isNeededBy a replica type: it has a pod, or may get one.
func (d *draft) isNeededBy(name string) bool {
	return slices.ContainsFunc(d.replicas, func(r replica) bool {
		return r.replicaType.Name == name && (r.pod != nil || d.isTurnOf(r.replicaType))
	})
}

// isReadBy a replica type: it has a pod.
func (d *draft) isReadBy(name string) bool {
	return slices.ContainsFunc(d.replicas, func(r replica) bool { return r.replicaType.Name == name && r.pod != nil })
}

// rest is keep for a job that is suspended or over, which wants nothing: what stays is not touched.
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

// nameOf a dependent object.
func (d *draft) nameOf(e *training.Dependent) string { return cmp.Or(e.Name, d.Head.Meta.Name) }

// deleteDependent deletes an object, if it has a name that its kind gives.
func (d *draft) deleteDependent(stored *training.StoredDependent) {
	behind, ours := strings.CutPrefix(stored.Name, d.Head.Meta.Name)
	if ours && !stored.Deleting && (behind == "" || slices.Contains(d.Head.Kind.DependentNames, behind)) {
		d.plan.Delete = append(d.plan.Delete, Deletion{Resource: stored.Resource, Namespace: d.Head.Meta.Namespace, Name: stored.Name, UID: stored.UID})
	}
}

// stored is the job's object of that name, nil if there is none; unseen is set if no one knows.
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

// repair plans what it takes for an object to be as wanted, and answers whether that is anything.
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

// dependent is the object as it is made.
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

// createUnwatched adds the dependent objects that are not read again to a plan that makes pods. They come first, as pods need
// them, and one that is there already costs a request that is refused.
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

// joined are the members of two objects, or the second value if the first is none.
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
	// notAdmitted is the phase of a group that waits; so is none at all.
	notAdmitted = "Pending"
)

// open says whether pods may be made: everything that they wait for is there. The watch of what they wait for wakes
// the job; nothing is polled.
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
		case dependent.Gate == training.GateAdmitted && (stored.Phase == "" || stored.Phase == notAdmitted):
			d.notAdmittedEvent(stored)
			return false
		}
	}
	return true
}

// notAdmittedEvent tells, once for a generation, why there are no pods.
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
