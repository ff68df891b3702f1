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
//	runs, and is not being deleted        yes; for a batch/v1 Job, which would fail otherwise, if it is ready
//	has succeeded, or is recorded so      yes
//	anything else                         no
//
// They start when all replicas let them, or in an elastic job as many as it needs: see training.ReplicaType.Needed.

// mayStart reports whether pods of a replica type may be created: the awaited type runs, and what they read is stored.
func (d *draft) mayStart(rtype *training.ReplicaType) bool {
	return d.isTurnOf(rtype) && !slices.Contains(d.held, rtype.Name)
}

// isTurnOf reports whether enough replicas run of the replica type that rtype waits for.
func (d *draft) isTurnOf(rtype *training.ReplicaType) bool {
	awaited := d.Job.Awaited(rtype)
	return awaited == nil || d.isReady(awaited, rtype.Batch)
}

// isReady reports whether as many replicas of a replica type as the job needs run or have succeeded. mustPassProbes: a pod
// that runs only counts while it is ready.
func (d *draft) isReady(rtype *training.ReplicaType, mustPassProbes bool) bool {
	ready := 0
	for i := range d.replicas {
		r := &d.replicas[i]
		if r.replicaType != rtype {
			continue
		}
		if r.succeeded() || r.runs() && (r.pod.Ready || !mustPassProbes) {
			ready++
		}
	}
	return ready >= rtype.Needed()
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
		if d.Job.Awaited(r.replicaType) == rtype && r.pod == nil && !d.isReady(rtype, false) {
			return true
		}
	}
	return false
}
