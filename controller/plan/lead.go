package plan

import (
	corev1 "k8s.io/api/core/v1"

	"stoic/schema"
)

// succeeded: the lead has.
func succeeded(d *draft) bool {
	if !d.leadDone() {
		return false
	}
	d.conclude(schema.Succeeded, schema.ReasonSucceeded, d.subject()+" successfully completed.", CountSucceeded)
	return true
}

// leadDone: see schema.Lead. No replicas, no success. A pod that is being deleted proves nothing: it may
// have been told to stop and have stopped in good order.
func (d *draft) leadDone() bool {
	lead := d.Job.Lead
	wanted, done, active, first := 0, 0, 0, false
	for _, r := range d.replicas {
		if r.role.Name != lead.Role {
			continue
		}
		wanted++
		switch {
		case r.pod == nil || r.pod.Deleting:
		case r.pod.Phase == corev1.PodSucceeded:
			done++
			first = first || r.index == 0
		case r.pod.Phase == corev1.PodRunning:
			active++
		}
	}
	switch lead.Rule {
	case schema.LeadAll:
		return wanted > 0 && done == wanted
	case schema.LeadFirst:
		return first || wanted > 0 && done == wanted
	case schema.LeadAny:
		return done > 0 && active == 0
	}
	return false
}

// active says whether the job runs: any replica of the lead does. A job without a lead runs if any replica does.
func (d *draft) active() bool {
	lead := d.Job.Lead.Role
	for name, count := range d.status.ReplicaStatuses {
		if (lead == "" || lead == name) && count.Active > 0 {
			return true
		}
	}
	return false
}
