package plan

import (
	"slices"

	corev1 "k8s.io/api/core/v1"

	"stoic/training"
)

// A replica type may wait for another one: see training.KnownReplicaType.After. While it waits, its replicas have no pods
// and are not counted. Failed replicas of the awaited type are replaced, or fail the job, as usual.
//
//	a replica of the awaited type         lets the others start
//	runs, and is not being deleted        yes
//	has succeeded, or is recorded so      yes
//	anything else                         no

// mayStart reports whether pods of a replica type may be created: the awaited type runs, and what they read is stored.
func (d *draft) mayStart(rtype *training.ReplicaType) bool {
	return d.isTurnOf(rtype) && !slices.Contains(d.held, rtype.Name)
}

// isTurnOf reports whether the replica type that rtype waits for runs.
func (d *draft) isTurnOf(rtype *training.ReplicaType) bool {
	awaited := d.Job.Awaited(rtype)
	return awaited == nil || d.isReady(awaited) && (!rtype.Batch || d.passesProbes(awaited))
}

// passesProbes reports whether the running pods of a replica type are ready. A batch/v1 Job would fail if one were not.
func (d *draft) passesProbes(rtype *training.ReplicaType) bool {
	for i := range d.replicas {
		if r := &d.replicas[i]; r.replicaType == rtype && r.runs() && !r.pod.Ready {
			return false
		}
	}
	return true
}

// isReady reports whether all replicas of a replica type run or have succeeded.
func (d *draft) isReady(rtype *training.ReplicaType) bool {
	for i := range d.replicas {
		if r := &d.replicas[i]; r.replicaType == rtype && !r.runs() && !r.succeeded() {
			return false
		}
	}
	return true
}

func (r *replica) runs() bool {
	return r.pod != nil && r.pod.Phase == corev1.PodRunning && !r.pod.Deleting
}

func (r *replica) succeeded() bool {
	return r.recorded || r.pod != nil && r.pod.Phase == corev1.PodSucceeded && !r.pod.Deleting
}

// running returns the replicas that run, for the content of dependent objects.
func (d *draft) running() training.RunningReplicas {
	if d.Head.Kind.Dependents == nil {
		return nil
	}
	running := training.RunningReplicas{}
	for i := range d.Job.ReplicaTypes {
		if rtype := &d.Job.ReplicaTypes[i]; !d.isAwaited(rtype) {
			running[rtype.Name] = training.Present{}
		}
	}
	for i := range d.replicas {
		r := &d.replicas[i]
		of, known := running[r.replicaType.Name]
		if !known || r.pod == nil || r.pod.Phase == corev1.PodPending || r.pod.Phase == "" {
			continue
		}
		if of.Begun = append(of.Begun, r.index); r.runs() {
			of.Running = append(of.Running, r.index)
		}
		running[r.replicaType.Name] = of
	}
	return running
}

// isAwaited reports whether another replica type still waits for this one: it has no pod, and may have none yet.
func (d *draft) isAwaited(rtype *training.ReplicaType) bool {
	if batch, job := d.Job.BatchReplicaType(), d.batchJob(); batch != nil && d.Job.Awaited(batch) == rtype && (job == nil || job.Suspended) && !d.isTurnOf(batch) {
		return true
	}
	for i := range d.replicas {
		r := &d.replicas[i]
		if d.Job.Awaited(r.replicaType) == rtype && r.pod == nil && !d.isReady(rtype) {
			return true
		}
	}
	return false
}
