package plan

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"stoic/schema"
)

// keep brings the extra objects to what is wanted. One of ours with another name than the job's is somebody's work by
// hand and is left alone.
//
//	wanted  there                          then
//	no      yes                            delete it
//	yes     no                             create it
//	yes     being deleted                  wait for the name
//	yes     yes, and says something else   update what differs
//	yes     cannot be seen                 tell why, if that is known
func (d *draft) keep(wanted []schema.Extra) {
	for i := range d.Extras {
		stored := &d.Extras[i]
		asked := slices.ContainsFunc(wanted, func(e schema.Extra) bool { return e.Resource == stored.Resource })
		if stored.Name == d.Head.Meta.Name && !asked && !stored.Deleting {
			d.plan.Delete = append(d.plan.Delete, Deletion{stored.Resource, d.Head.Meta.Namespace, stored.Name, stored.UID})
		}
	}
	for i := range wanted {
		extra := &wanted[i]
		stored, unseen := d.stored(extra.Resource)
		switch {
		case unseen != nil:
			d.tellUnseen(unseen, extra.Gate != schema.NoGate)
		case stored == nil:
			d.plan.Create = append(d.plan.Create, d.extra(extra))
		case !stored.Deleting:
			if patch := differences(extra.Spec, stored.Spec); len(patch) > 0 {
				d.plan.Update = append(d.plan.Update, d.update(stored, patch))
			}
		}
	}
}

// stored is the job's object of that resource, nil if there is none; unseen is set if nobody knows.
func (d *draft) stored(r schema.Resource) (stored *schema.StoredExtra, unseen *schema.Unseen) {
	for i := range d.Unseen {
		if d.Unseen[i].Resource == r {
			return nil, &d.Unseen[i]
		}
	}
	for i := range d.Extras {
		if d.Extras[i].Resource == r && d.Extras[i].Name == d.Head.Meta.Name {
			return &d.Extras[i], nil
		}
	}
	return nil, nil
}

// extra is the object as it is made.
func (d *draft) extra(e *schema.Extra) schema.Object {
	spec := maps.Clone(e.Spec)
	maps.Copy(spec, e.Once)
	maps.DeleteFunc(spec, func(_ string, value json.RawMessage) bool { return present(value) == nil })
	meta := owned(d.Job, d.Head.Meta.Name, raw(map[string]string{
		schema.LabelOperator: d.Head.Kind.Controller, schema.LabelJob: d.Head.Meta.Name}))
	body := schema.JSON(struct {
		APIVersion string                     `json:"apiVersion"`
		Kind       string                     `json:"kind"`
		Metadata   metadata                   `json:"metadata"`
		Spec       map[string]json.RawMessage `json:"spec"`
	}{e.Resource.APIVersion(), e.Resource.Kind, meta, spec})
	return schema.Object{Resource: e.Resource, Namespace: meta.Namespace, Name: meta.Name, Body: body}
}

func (d *draft) update(stored *schema.StoredExtra, spec map[string]json.RawMessage) Update {
	type identity struct {
		UID             string `json:"uid"`
		ResourceVersion string `json:"resourceVersion"`
	}
	return Update{stored.Resource, d.Head.Meta.Namespace, stored.Name, stored.UID, stored.ResourceVersion, schema.JSON(struct {
		Metadata identity                   `json:"metadata"`
		Spec     map[string]json.RawMessage `json:"spec"`
	}{identity{string(stored.UID), stored.ResourceVersion}, spec})}
}

const (
	// admitWithin is how soon a scheduler usually admits a group. Only what takes longer is told.
	admitWithin = 10 * time.Second
	// notAdmitted is the phase of a group that waits; so is none at all.
	notAdmitted = "Pending"
)

// open says whether pods may be made: everything that they wait for is there. The watch of what they wait for wakes
// the job; nothing is polled.
func (d *draft) open(extras []schema.Extra) bool {
	for i := range extras {
		extra := &extras[i]
		stored, unseen := d.stored(extra.Resource)
		switch {
		case extra.Gate == schema.NoGate:
		case unseen != nil, stored == nil, stored.Deleting:
			return false
		case extra.Gate == schema.GateAdmitted && (stored.Phase == "" || stored.Phase == notAdmitted):
			d.tellPending(stored)
			return false
		}
	}
	return true
}

// tellPending tells, once for a generation, why there are no pods.
func (d *draft) tellPending(stored *schema.StoredExtra) {
	age := d.Now.Sub(stored.Created)
	if age >= 0 && age < admitWithin {
		d.recheck(admitWithin - age)
		return
	}
	phase := "has no phase"
	if stored.Phase != "" {
		phase = "is " + stored.Phase
	}
	d.event(corev1.EventTypeNormal, schema.ReasonPodGroupNotAdmitted, "",
		fmt.Sprintf("%s %s %s: its scheduler has not admitted it; pods are made when it has", stored.Resource.Kind, stored.Name, phase),
		d.generation(), d.now)
}

func (d *draft) tellUnseen(unseen *schema.Unseen, gate bool) {
	if unseen.Why == "" {
		return
	}
	consequence := "the job goes on without it"
	if gate {
		consequence = "no pods are made until that changes"
	}
	d.event(corev1.EventTypeWarning, unseen.Resource.ExtraReasons().Unavailable, "",
		fmt.Sprintf("no %s for the job: %s; %s", unseen.Resource.Kind, strings.TrimSuffix(unseen.Why, "."), consequence), d.generation(), d.now)
}
