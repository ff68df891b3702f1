package plan

import (
	corev1 "k8s.io/api/core/v1"

	"stoic/schema"
)

// add counts one pod:
//
//	phase      deleting  counts as
//	Running    no        active
//	Running    yes       failed (so have clients known it; no verdict is ever made of it)
//	Succeeded  any       succeeded
//	Failed     any       failed
//	other      any       nothing
func add(to schema.ReplicaStatus, pod *schema.Pod) schema.ReplicaStatus {
	switch {
	case pod.Phase == corev1.PodSucceeded:
		to.Succeeded++
	case pod.Phase == corev1.PodFailed, pod.Phase == corev1.PodRunning && pod.Deleting:
		to.Failed++
	case pod.Phase == corev1.PodRunning:
		to.Active++
	}
	return to
}

// tally counts the pods of the replicas that the job asks for. Every role has an entry.
func (d *draft) tally() {
	counts := make(map[string]schema.ReplicaStatus, len(d.Job.Roles))
	for i := range d.Job.Roles {
		role := &d.Job.Roles[i]
		counts[role.Name] = schema.ReplicaStatus{Selector: d.selector(role)}
	}
	for _, r := range d.replicas {
		if r.pod != nil {
			counts[r.role.Name] = add(counts[r.role.Name], r.pod)
		}
	}
	d.status.ReplicaStatuses = counts
}

// selector finds the pods of a role, in the form of a query, if the kind's status says so.
func (d *draft) selector(role *schema.Role) string {
	if !d.Head.Kind.Selectors {
		return ""
	}
	return schema.LabelJob + "=" + d.Head.Meta.Name + "," + schema.LabelOperator + "=" + d.Head.Kind.Controller + "," +
		schema.LabelRole + "=" + role.Label
}

// still keeps the counts on record, of a job whose pods may be gone, except that nothing is active.
func (d *draft) still() {
	counts := make(map[string]schema.ReplicaStatus, len(d.Job.Roles))
	for i := range d.Job.Roles {
		name := d.Job.Roles[i].Name
		old := d.status.ReplicaStatuses[name]
		counts[name] = schema.ReplicaStatus{Succeeded: max(old.Succeeded, 0), Failed: max(old.Failed, 0), Selector: old.Selector}
	}
	d.status.ReplicaStatuses = counts
}

// tallyByLabel counts the pods of a job whose spec cannot be read. The roles are those that the kind knows
// and that are on record or found; a label that names another role counts nowhere.
func (d *draft) tallyByLabel() {
	counts := make(map[string]schema.ReplicaStatus)
	for _, role := range d.Head.Kind.Roles {
		old, known := d.status.ReplicaStatuses[role.Name]
		found := schema.ReplicaStatus{Selector: old.Selector}
		for i := range d.Pods {
			if d.Pods[i].Role == role.Label {
				found, known = add(found, &d.Pods[i]), true
			}
		}
		if known {
			counts[role.Name] = found
		}
	}
	d.status.ReplicaStatuses = counts
}
