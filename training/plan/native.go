package plan

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"stoic/training"
)

// chooseNative chooses the version of native gang scheduling: the newest one of which no resource is absent. The objects of
// other versions are ignored, because two served versions show the same objects.
//
// A version counts as served until its absence is known. If none is served, the newest one is chosen, and the event names
// all versions.
func (d *draft) chooseNative() {
	if d.Head.Kind == nil || !d.Head.Kind.Cluster.Gang.Native {
		return
	}
	versions := training.NativeVersions()
	served := slices.IndexFunc(versions, func(v training.NativeVersion) bool {
		return !slices.ContainsFunc(d.Unavailable, func(u training.Unavailable) bool { return u.Absent && v.Has(u.Resource) })
	})
	d.native = &versions[max(served, 0)]
	others := func(r training.Unavailable) bool { return training.IsNative(r.Resource) && !d.native.Has(r.Resource) }
	d.Unavailable = slices.DeleteFunc(slices.Clone(d.Unavailable), others)
	d.Dependents = slices.DeleteFunc(d.Dependents, func(s training.StoredDependent) bool { return others(training.Unavailable{Resource: s.Resource}) })
	if served >= 0 {
		return
	}
	var names []string
	for _, v := range versions {
		names = append(names, v.Name)
	}
	for i := range d.Unavailable {
		if u := &d.Unavailable[i]; d.native.Has(u.Resource) {
			if u.Why = ""; u.Resource == d.native.Kinds[len(d.native.Kinds)-1] { // one event is enough
				u.Why = "the API server serves gang scheduling of " + u.Resource.Group + " in none of the versions " + strings.Join(names, ", ")
			}
		}
	}
}

// dependents returns the desired dependent objects of the job.
func (d *draft) dependents() []training.Dependent {
	all := d.Job.DependentObjects(d.Priorities, d.running())
	if d.native == nil {
		return all
	}
	return append(d.native.Dependents(d.Job), all...)
}

// nativeOfNewPods returns the version whose group new pods belong to, or nil. The scheduler only counts pods that have not
// ended, so a pod would wait for members that have succeeded or were scaled in. If fewer members are left than minCount,
// the gang was already scheduled once, and each new pod is scheduled on its own.
//
// A batch/v1 Job that runs keeps its template: a pod that it replaces after others have ended may wait for them.
func (d *draft) nativeOfNewPods() *training.NativeVersion {
	if d.native == nil {
		return nil
	}
	group, unseen := d.stored(&training.Dependent{Resource: d.native.Kinds[len(d.native.Kinds)-1]})
	if unseen != nil || group == nil {
		return d.native
	}
	alive, minCount := d.firstMembers(), d.native.MinCount(group.Spec)
	if alive < minCount && (minCount <= d.Job.Replicas() || d.hasRun()) {
		return nil
	}
	return d.native
}

// firstMembers returns the number of replicas that have a pod that has not ended, or get one. Replicas that wait for another
// replica type do not count towards minCount.
func (d *draft) firstMembers() (alive int) {
	for i := range d.replicas {
		r := &d.replicas[i]
		ended := r.succeeded() || r.pod != nil && r.pod.Phase == corev1.PodFailed && !r.pod.Deleting && failureActionOf(r) != replaced
		if !ended && d.Job.Awaited(r.replicaType) == nil {
			alive++
		}
	}
	if rtype, job := d.Job.BatchReplicaType(), d.batchJob(); rtype != nil && d.Job.Awaited(rtype) == nil && (job == nil || job.End == training.BatchRunning) {
		alive++
	}
	return alive
}

// hasRun reports whether a pod of the job ran since it was started or resumed, so that its gang was scheduled once.
func (d *draft) hasRun() bool {
	return d.status.Is(training.Running) || d.status.Is(training.Restarting) || slices.ContainsFunc(d.Pods, func(p training.Pod) bool { return p.Phase != corev1.PodPending })
}
