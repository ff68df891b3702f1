package plan

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"stoic/training"
)

// continuing: there is no terminal condition. Failed pods are replaced, orphans deleted, dependent objects brought up to date, and what is
// missing is created.
func continuing(d *draft) bool {
	d.runs = true
	d.tally()
	if !d.restart() && d.active() {
		d.countStart()
		d.drop(training.Restarting)
		d.set(training.Running, metav1.ConditionTrue, d.Head.Kind.Reason(training.ReasonRunning), d.Job.Sentences().Running)
	}
	d.deleteOrphans()
	dependents := d.dependents()
	d.keep(dependents)
	if d.open(dependents) {
		d.createMissing()
		d.runBatch()
		d.createUnwatched(dependents)
	}
	if deadline := d.Job.Policy.Deadline; deadline.Set {
		d.requeue(d.until(*d.status.StartTime, deadline))
	}
	return true
}

// countStart counts a job that comes to run, with how long it has waited for that: since it was made or, after a suspension,
// since it was resumed. One that runs again after a restart has begun before, and so has one that runs and of which nothing is on
// record: its status was wiped, or comes from elsewhere.
func (d *draft) countStart() {
	if d.status.Is(training.Running) || d.status.Condition(training.Restarting) != nil || !d.Head.Status.Is(training.Created) {
		return
	}
	since := &d.Head.Meta.CreationTimestamp
	if since.IsZero() || d.status.Condition(training.Suspended) != nil {
		since = d.status.StartTime
	}
	d.measure(CountStarted, d.Now, since)
}

// orphan is a child whose name has the form of a replica's, but not that of one the job asks for.
type orphan struct {
	name    string
	index   int
	pod     *training.Pod
	service *training.Service
}

// deleteOrphans deletes what scaling in has left, highest index first. A child of ours with another kind of
// name is somebody's work by hand and is left alone.
func (d *draft) deleteOrphans() {
	var orphans []orphan
	for i := range d.Pods {
		if index, is := d.orphanIndex(d.Pods[i].Name); is {
			orphans = append(orphans, orphan{name: d.Pods[i].Name, index: index, pod: &d.Pods[i]})
		}
	}
	for i := range d.Services {
		if index, is := d.orphanIndex(d.Services[i].Name); is {
			orphans = append(orphans, orphan{name: d.Services[i].Name, index: index, service: &d.Services[i]})
		}
	}
	slices.SortStableFunc(orphans, func(a, b orphan) int {
		return cmp.Or(cmp.Compare(b.index, a.index), cmp.Compare(a.name, b.name))
	})
	for _, s := range orphans {
		if s.pod != nil {
			d.deletePod(s.pod)
		} else {
			d.deleteService(s.service)
		}
	}
}

// replicaOf reads the name of a child of this job: J-<label of the replica type>-<index>, the index as we write it.
func (d *draft) replicaOf(name string) (label string, index int, is bool) {
	rest, ok := strings.CutPrefix(name, d.Head.Meta.Name+"-")
	if !ok {
		return "", 0, false
	}
	if is := func(t training.KnownReplicaType) bool { return t.Unnumbered && t.Label == rest }; slices.ContainsFunc(d.Head.Kind.ReplicaTypes, is) {
		return rest, 0, true
	}
	cut := strings.LastIndexByte(rest, '-')
	if cut < 0 {
		return "", 0, false
	}
	label, digits := rest[:cut], rest[cut+1:]
	index, err := strconv.Atoi(digits)
	return label, index, err == nil && index >= 0 && strconv.Itoa(index) == digits
}

// orphanIndex is the index in the name of a child that has the form of a replica's and is not that of one.
func (d *draft) orphanIndex(name string) (index int, is bool) {
	label, index, is := d.replicaOf(name)
	if !is {
		return 0, false
	}
	for _, known := range d.Head.Kind.ReplicaTypes {
		if known.Label == label && name == known.Child(d.Head.Meta.Name, index) {
			rtype := d.Job.ReplicaType(known.Name)
			return index, rtype == nil || index >= rtype.Replicas
		}
	}
	return 0, false
}

// createMissing creates what is missing, in order of replica type and index, the service of a replica before its pod,
// so that the pod's name resolves when it starts. A child that is being deleted is not missing: its name is
// taken. A pod that is done stays; a replica that is on record as succeeded gets no other. One that waits for another
// replica type is missing, too, but not created yet.
func (d *draft) createMissing() {
	builder := newBuilder(d.Job)
	builder.native = d.nativeOfNewPods()
	bytes := 0
	for i := range d.replicas {
		r := &d.replicas[i]
		if r.service == nil && !r.replicaType.NoService {
			if d.full(len(d.plan.Create), bytes) {
				return
			}
			service := builder.service(r)
			bytes += len(service.Body)
			d.plan.Create = append(d.plan.Create, service)
		}
		if r.pod == nil && !r.recorded && d.mayStart(r.replicaType) {
			if d.full(len(d.plan.Create), bytes) {
				return
			}
			pod := builder.pod(r, d.ledger.Failed[r.inLedger()].ConsecutiveFailures)
			bytes += len(pod.Body)
			d.plan.Create = append(d.plan.Create, pod)
		}
	}
}
