package plan

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"stoic/training"
)

// continuing handles a job that continues: it replaces failed pods, deletes orphans, updates dependent objects, and creates
// what is missing.
func continuing(d *draft) bool {
	d.runs = true
	d.tally()
	if !d.restart() && d.active() {
		d.setRunning()
	}
	d.deleteOrphans()
	d.wanted = d.dependents()
	d.keep(d.wanted)
	if d.open(d.wanted) {
		d.createMissing()
		d.runBatch()
		d.createUnwatched(d.wanted)
	}
	d.requeueAtDeadline()
	return true
}

// setRunning sets the condition Running, which ends a restart.
func (d *draft) setRunning() {
	d.countStart()
	d.drop(training.Restarting)
	d.set(training.Running, metav1.ConditionTrue, d.Head.Kind.Reason(training.ReasonRunning), d.Job.Sentences().Running)
}

func (d *draft) requeueAtDeadline() {
	if deadline := d.Job.Policy.Deadline; deadline.Set {
		d.requeue(d.until(*d.status.StartTime, deadline))
	}
}

// countStart counts a job that starts to run, with the time that it waited since its creation or, after a suspension, since
// it was resumed. It does not count a job that runs again after a restart, or that runs with a stored status without
// Created: its status was wiped, or another operator wrote it.
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

// orphan is a child whose name has the form of a replica's, but belongs to no replica of the job.
type orphan struct {
	name    string
	index   int
	pod     *training.Pod
	service *training.Service
}

// deleteOrphans deletes the children that scaling in has left, highest index first. It does not touch a child with another
// form of name: a user created it by hand.
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

// replicaOf parses the name of a child of this job: J-<label of the replica type>-<index>, without leading zeros.
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

// orphanIndex returns the index in the name of an orphan, and whether the name is that of one.
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

// createMissing creates missing children, in order of replica type and index. The service of a replica precedes its pod,
// so that the pod's name resolves when it starts. A child that is being deleted is not missing, because its name is still
// taken. No pod is created for a replica that is recorded as succeeded, or while its replica type waits for another one.
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
