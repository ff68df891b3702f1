package plan

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"stoic/training"
)

// add counts one pod:
//
//	phase      deleting  counts as
//	Running    no        active
//	Running    yes       failed (clients expect this; it never causes a terminal condition)
//	Succeeded  any       succeeded
//	Failed     any       failed
//	other      any       nothing
func add(to training.ReplicaStatus, pod *training.Pod) training.ReplicaStatus {
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

// tally counts the pods of the job's replicas, and recorded successes whose pods no longer exist. Every replica type has an
// entry.
func (d *draft) tally() {
	counts := make(map[string]training.ReplicaStatus, len(d.Job.ReplicaTypes))
	for i := range d.Job.ReplicaTypes {
		rtype := &d.Job.ReplicaTypes[i]
		counts[rtype.Name] = training.ReplicaStatus{Selector: d.selector(rtype)}
	}
	for _, r := range d.replicas {
		switch {
		case r.pod != nil:
			counts[r.replicaType.Name] = add(counts[r.replicaType.Name], r.pod)
		case r.recorded:
			count := counts[r.replicaType.Name]
			count.Succeeded++
			counts[r.replicaType.Name] = count
		}
	}
	d.tallyBatch(counts)
	d.status.ReplicaStatuses = counts
}

// selector returns the label selector of a replica type's pods, for the scale subresource.
func (d *draft) selector(rtype *training.ReplicaType) string {
	kind := d.Head.Kind
	if kind.Labels == nil {
		return training.LabelJob + "=" + d.Head.Meta.Name + "," + training.LabelOperator + "=" + kind.Controller + "," +
			training.LabelReplicaType + "=" + rtype.Label
	}
	var requirements []string
	for label, value := range kind.Labels(d.Job, rtype, 0) {
		if label != training.LabelReplicaIndex {
			requirements = append(requirements, label+"="+value)
		}
	}
	slices.Sort(requirements)
	return strings.Join(requirements, ",")
}

// still keeps the stored counts of a job whose pods may no longer exist, except that nothing is active.
//
//	the job            active replicas count as
//	has succeeded      succeeded: clients of 1.9 wait until this equals the number of replicas
//	has failed         nothing
//	is suspended       nothing
//
// Replicas that ran for a launcher are not counted after its end: clients expect this.
func (d *draft) still(succeeded bool) {
	counts := make(map[string]training.ReplicaStatus, len(d.Job.ReplicaTypes))
	for i := range d.Job.ReplicaTypes {
		name := d.Job.ReplicaTypes[i].Name
		old := d.status.ReplicaStatuses[name]
		done := int64(max(old.Succeeded, 0))
		if succeeded {
			done = training.Count(done + int64(max(old.Active, 0)))
		}
		counts[name] = training.ReplicaStatus{Succeeded: int32(done), Failed: max(old.Failed, 0), Selector: old.Selector}
		if d.ranForAnother(name) {
			counts[name] = training.ReplicaStatus{Selector: old.Selector}
		}
	}
	d.status.ReplicaStatuses = counts
}

// ranForAnother reports whether a replica type ran for another one that no longer runs. If a batch/v1 Job runs the other
// one, this is always so when still is called.
func (d *draft) ranForAnother(name string) bool {
	for i := range d.Job.ReplicaTypes {
		other := &d.Job.ReplicaTypes[i]
		count := d.status.ReplicaStatuses[other.Name]
		if other.Name != name && (other.Batch || other.After == name && (count.Succeeded > 0 || count.Failed > 0)) {
			return true
		}
	}
	return false
}

// tallyByLabel counts the pods of a job whose spec is rejected. It counts the replica types of the kind that are in the
// status or that pods have as a label; other labels are ignored.
func (d *draft) tallyByLabel() {
	counts := make(map[string]training.ReplicaStatus)
	for _, rtype := range d.Head.Kind.ReplicaTypes {
		old, known := d.status.ReplicaStatuses[rtype.Name]
		found := training.ReplicaStatus{Selector: old.Selector}
		for _, pods := range [][]training.Pod{d.Pods, d.BatchPods} {
			for i := range pods {
				if pods[i].ReplicaType == rtype.Label {
					found, known = add(found, &pods[i]), true
				}
			}
		}
		if n := d.goneSuccesses(rtype.Label); n > 0 {
			found.Succeeded, known = found.Succeeded+int32(n), true
		}
		if known {
			counts[rtype.Name] = found
		}
	}
	d.status.ReplicaStatuses = counts
}
