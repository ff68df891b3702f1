package plan

import (
	"encoding/json"
	"fmt"
	"maps"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"stoic/schema"
)

// ganged is a role's template with what tells the gang scheduler to which group its pods belong. A scheduler that the
// author has named is not replaced.
func ganged(job *schema.Job, role *schema.Role) []byte {
	gang := job.Kind.Cluster.Gang
	if !gang.On() {
		return role.Template
	}
	top := object(role.Template)
	spec, meta := object(top["spec"]), object(top["metadata"])
	if schedulerOf(spec) == "" {
		spec["schedulerName"] = quote(gang.Name())
	}
	labels, annotations := gang.Marks(job.Meta.Name, role)
	mark(meta, "labels", labels)
	mark(meta, "annotations", annotations)
	top["spec"], top["metadata"] = schema.JSON(spec), schema.JSON(meta)
	return schema.JSON(top)
}

// mark puts marks over those of the author.
func mark(meta map[string]json.RawMessage, field string, marks map[string]string) {
	if len(marks) > 0 {
		all := object(meta[field])
		maps.Copy(all, raw(marks))
		meta[field] = schema.JSON(all)
	}
}

// schedulerOf a pod's spec; what is no string is none.
func schedulerOf(spec map[string]json.RawMessage) string {
	var name string
	_ = json.Unmarshal(spec["schedulerName"], &name)
	return name
}

// tellSchedulers warns, for each role, of pods that belong to a group of which their scheduler knows nothing.
func (d *draft) tellSchedulers(since metav1.Time) {
	gang := d.Head.Kind.Cluster.Gang
	if !gang.On() {
		return
	}
	for i := range d.Job.Roles {
		role := &d.Job.Roles[i]
		name := schedulerOf(object(object(role.Template)["spec"]))
		if name == "" || name == gang.Name() {
			continue
		}
		path := "spec." + d.Head.Kind.RolesField + "." + role.Name + ".template.spec.schedulerName"
		d.event(corev1.EventTypeWarning, schema.ReasonOtherScheduler, path, path+": found "+schema.Quote(name)+
			fmt.Sprintf(", which does not know the %s of the job; leave it out for %s", gang.Resource().Kind, schema.Quote(gang.Name())), d.generation(), since)
	}
}
