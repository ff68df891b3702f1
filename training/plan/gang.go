package plan

import (
	"encoding/json"
	"fmt"
	"maps"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"stoic/schema"
	"stoic/training"
)

// ganged returns a replica type's template with the fields and marks that assign its pods to a group. A schedulerName in the
// template stays, except with Kind.GangOverrides.
func ganged(job *training.Job, rtype *training.ReplicaType, native *training.NativeVersion) []byte {
	gang := job.Kind.Cluster.Gang
	if native != nil {
		top := object(rtype.Template)
		spec := object(top["spec"])
		maps.Copy(spec, native.Member(job.Meta.Name))
		top["spec"] = schema.JSON(spec)
		return schema.JSON(top)
	}
	if !gang.On() {
		return rtype.Template
	}
	top := object(rtype.Template)
	spec, meta := object(top["spec"]), object(top["metadata"])
	if schedulerOf(spec) == "" || job.Kind.GangOverrides {
		spec["schedulerName"] = quote(gang.Name())
	}
	labels, annotations := gang.Marks(job.Meta.Name, rtype)
	if job.Kind.GangOverrides {
		delete(annotations, training.AnnotationTask)
	}
	mark(meta, "labels", labels)
	mark(meta, "annotations", annotations)
	top["spec"], top["metadata"] = schema.JSON(spec), schema.JSON(meta)
	return schema.JSON(top)
}

// mark adds marks to a field of the metadata; they replace those of the template.
func mark(meta map[string]json.RawMessage, field string, marks map[string]string) {
	if len(marks) > 0 {
		all := object(meta[field])
		maps.Copy(all, raw(marks))
		meta[field] = schema.JSON(all)
	}
}

// schedulerOf returns the schedulerName in a pod's spec; "" if it is absent or no string.
func schedulerOf(spec map[string]json.RawMessage) string {
	var name string
	_ = json.Unmarshal(spec["schedulerName"], &name)
	return name
}

// schedulerEvents warns for each replica type whose scheduler does not know the group of its pods.
func (d *draft) schedulerEvents(since metav1.Time) {
	gang := d.Head.Kind.Cluster.Gang
	if !gang.On() {
		return
	}
	for i := range d.Job.ReplicaTypes {
		rtype := &d.Job.ReplicaTypes[i]
		name := schedulerOf(object(object(rtype.Template)["spec"]))
		if name == "" || name == gang.Name() {
			continue
		}
		if d.Head.Kind.GangOverrides {
			continue // it has its group: see ganged
		}
		path := "spec." + d.Head.Kind.ReplicaSpecsField + "." + rtype.Name + ".template.spec.schedulerName"
		d.event(corev1.EventTypeWarning, training.ReasonOtherScheduler, path, path+": found "+schema.Quote(name)+
			fmt.Sprintf(", which does not know the %s of the job; leave it out for %s", gang.Resource().Kind, schema.Quote(gang.Name())), d.generation(), since)
	}
}
