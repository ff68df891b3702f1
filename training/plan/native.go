package plan

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"stoic/training"
)

// chooseNative finds the version of native gang scheduling that the cluster serves: the newest of which nothing is absent. Of the
// others nothing is looked at: two versions that are served show the same objects.
//
// While it is not known whether a version is served, it is the one to wait for. Where none is served the newest stands for all,
// and the author is given the names of all.
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

// dependents are the objects beside pods and services that the job asks for.
func (d *draft) dependents() []training.Dependent {
	all := d.Job.DependentObjects(d.Priorities, d.running())
	if d.native == nil {
		return all
	}
	return append(d.native.Dependents(d.Job), all...)
}

// nativeOfNewPods is the version whose group new pods belong to, or nil. The scheduler counts only pods that have not ended, and
// would keep a pod waiting for members that have succeeded, or that the job does not ask for any more: where fewer are
// left than the group must have, the gang has had its start, and each new pod is scheduled by itself.
//
// A batch/v1 Job that runs keeps its template: a pod that it makes again when others have ended may wait for them.
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

// firstMembers are the replicas that have a pod which has not ended, or get one. One that waits for others is none of those that
// a group must have.
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

// hasRun: some pod of the job has run since it was started or resumed, so its gang has been scheduled once.
func (d *draft) hasRun() bool {
	return d.status.Is(training.Running) || d.status.Is(training.Restarting) || slices.ContainsFunc(d.Pods, func(p training.Pod) bool { return p.Phase != corev1.PodPending })
}
