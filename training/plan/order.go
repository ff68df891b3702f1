package plan

import (
	"slices"

	corev1 "k8s.io/api/core/v1"

	"stoic/training"
)

// A replica type may wait for another one: see training.KnownReplicaType.After. While it waits, its replicas have no pods
// and count nowhere, so the job neither runs nor succeeds by them; replicas of the other one that fail are replaced, or
// fail the job, as ever.
//
//	a replica of the awaited type         lets the others start
//	runs, and is not being deleted        yes
//	has succeeded, or is on record so     yes
//	anything else                         no

// mayStart says whether pods of a replica type may be created: what they wait for runs, and what they read is stored.
func (d *draft) mayStart(rtype *training.ReplicaType) bool {
	return d.isTurnOf(rtype) && !slices.Contains(d.held, rtype.Name)
}

// isTurnOf a replica type: the one for which it waits runs.
func (d *draft) isTurnOf(rtype *training.ReplicaType) bool {
	awaited := d.Job.Awaited(rtype)
	return awaited == nil || d.isReady(awaited) && (!rtype.Batch || d.passesProbes(awaited))
}

// passesProbes: the pods of a replica type are ready, too. A batch/v1 Job would fail by those that are not.
func (d *draft) passesProbes(rtype *training.ReplicaType) bool {
	for i := range d.replicas {
		if r := &d.replicas[i]; r.replicaType == rtype && r.runs() && !r.pod.Ready {
			return false
		}
	}
	return true
}

// isReady says whether all replicas of a replica type run, or are done.
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

// running is what dependent objects of the kind may say of the replicas that run.
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

// isAwaited says whether another replica type still waits for this one: it has no pod, and may have none yet.
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
