package plan

import (
	corev1 "k8s.io/api/core/v1"

	"stoic/training"
)

// succeeded gives the job the condition Succeeded if the success rule is met.
func succeeded(d *draft) bool {
	if !d.succeededByRule() {
		return false
	}
	d.conclude(training.Succeeded, training.ReasonSucceeded, d.Job.Sentences().Succeeded, CountSucceeded)
	return true
}

// succeededByRule reports whether the success rule is met, see training.Success. Without replicas there is no success. A
// pod that is being deleted proves nothing, as it may have exited with 0 on SIGTERM, unless its success is already recorded.
func (d *draft) succeededByRule() bool {
	rule := d.Job.Success
	if rule.Rule == training.SuccessBatch {
		job := d.batchJob()
		return job != nil && job.End == training.BatchComplete
	}
	wanted, done, first := 0, 0, false
	for _, r := range d.replicas {
		if r.replicaType.Name != rule.ReplicaType {
			continue
		}
		wanted++
		switch {
		case r.recorded && (r.pod == nil || r.pod.Phase == corev1.PodSucceeded):
			done++
			first = first || r.index == 0
		case r.pod == nil || r.pod.Deleting:
		case r.pod.Phase == corev1.PodSucceeded:
			done++
			first = first || r.index == 0
		}
	}
	switch rule.Rule {
	case training.SuccessAll:
		return wanted > 0 && done == wanted
	case training.SuccessFirst:
		return first || wanted > 0 && done == wanted
	case training.SuccessAny:
		return done > 0
	}
	return false
}

// active reports whether the job runs: any replica of the success replica type is active, or any replica if there is no such type.
func (d *draft) active() bool {
	if d.Job.Success.Rule == training.SuccessBatch {
		return d.activeBatch()
	}
	decides := d.Job.Success.ReplicaType
	for name, count := range d.status.ReplicaStatuses {
		if (decides == "" || decides == name) && count.Active > 0 {
			return true
		}
	}
	return false
}
