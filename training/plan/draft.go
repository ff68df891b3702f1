package plan

import (
	"cmp"
	"maps"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"stoic/training"
)

// draft is a plan in the making: what was observed, in an order of our own, and what the rules have decided
// so far. The rules write status and plan; nothing else.
type draft struct {
	Observed
	now metav1.Time // Now as a status carries it: to the second

	replicas []replica // that the job asks for, in order of replica type and index; none if it is rejected

	native *training.NativeVersion // of the gang scheduling that Kubernetes itself has; nil: none is asked for

	status training.Status // as it shall be
	ledger training.Ledger // as it shall be
	plan   Plan
	silent bool   // write nothing at all
	runs   bool   // the job is neither over nor suspended
	stale  bool   // the ledger says of replicas that they have succeeded that the job does not ask for, or that have failed
	tail   string // of the sentence that says that a refused spec was accepted
	// held are the replica types that may not start yet, as what they read is not stored as it is wanted.
	held []string
	// adopts: it asks for a Job that an earlier operator may have made. The generation is put on record when that is known, so
	// that a process that ends in between is followed by one that asks again.
	adopts bool
}

// replica is a place that the job wants filled, and the children that fill it.
type replica struct {
	replicaType *training.ReplicaType
	index       int
	name        string
	pod         *training.Pod // nil if missing
	// recorded: the ledger on the job says that it has succeeded.
	recorded bool
	service  *training.Service // nil if missing
}

// newDraft copies what it orders or changes: nothing observed is written to.
func newDraft(o Observed) *draft {
	d := &draft{Observed: o, now: metav1.NewTime(o.Now.UTC().Truncate(time.Second))}
	if o.Head == nil {
		return d
	}
	d.Pods = slices.SortedFunc(slices.Values(o.Pods), func(a, b training.Pod) int {
		return cmp.Or(byName(a.Name, b.Name), cmp.Compare(a.UID, b.UID))
	})
	d.BatchPods = slices.SortedFunc(slices.Values(o.BatchPods), func(a, b training.Pod) int {
		return cmp.Or(byName(a.Name, b.Name), cmp.Compare(a.UID, b.UID))
	})
	d.Services = slices.SortedFunc(slices.Values(o.Services), func(a, b training.Service) int {
		return cmp.Or(byName(a.Name, b.Name), cmp.Compare(a.UID, b.UID))
	})
	d.Dependents = slices.SortedFunc(slices.Values(o.Dependents), func(a, b training.StoredDependent) int {
		return cmp.Or(cmp.Compare(a.Resource.APIVersion(), b.Resource.APIVersion()), byName(a.Name, b.Name), cmp.Compare(a.UID, b.UID))
	})
	d.chooseNative()
	d.status = tidy(o.Head.Status, d.now)
	d.ledger = o.Head.Ledger
	if o.Job != nil {
		d.replicas = places(o.Job, d.Pods, d.Services)
		d.recall()
	}
	return d
}

// byName puts short names first, so that of one replica type, 9 stands before 10.
func byName(a, b string) int {
	return cmp.Or(cmp.Compare(len(a), len(b)), cmp.Compare(a, b))
}

// tidy is a copy of a status as read, with one condition of each type and no time that says nothing: written
// back, such a time is a null, for which the API server refuses the whole status.
func tidy(s training.Status, now metav1.Time) training.Status {
	s.Unclean = false
	conditions := make([]training.Condition, 0, len(s.Conditions)+2)
	for _, c := range s.Conditions {
		if slices.ContainsFunc(conditions, func(other training.Condition) bool { return other.Type == c.Type }) {
			continue
		}
		if c.LastUpdateTime.IsZero() {
			c.LastUpdateTime = now
		}
		if c.LastTransitionTime.IsZero() {
			c.LastTransitionTime = now
		}
		conditions = append(conditions, c)
	}
	s.Conditions = conditions
	s.ReplicaStatuses = maps.Clone(s.ReplicaStatuses)
	if s.StartTime.IsZero() {
		s.StartTime = nil
	}
	if s.CompletionTime.IsZero() {
		s.CompletionTime = nil
	}
	return s
}

// places lists what the job asks for. A child fills a place by its exact name; the labels it carries say
// nothing, and no number read from a child is ever an index.
func places(job *training.Job, pods []training.Pod, services []training.Service) []replica {
	podOf := make(map[string]*training.Pod, len(pods))
	for i := range pods {
		podOf[pods[i].Name] = &pods[i]
	}
	serviceOf := make(map[string]*training.Service, len(services))
	for i := range services {
		serviceOf[services[i].Name] = &services[i]
	}
	all := make([]replica, 0, job.Replicas())
	for i := range job.ReplicaTypes {
		rtype := &job.ReplicaTypes[i]
		if rtype.Batch {
			continue
		}
		for index := range rtype.Replicas {
			name := rtype.Child(job.Meta.Name, index)
			all = append(all, replica{replicaType: rtype, index: index, name: name, pod: podOf[name], service: serviceOf[name]})
		}
	}
	return all
}

// finish turns the draft into the plan.
func (d *draft) finish() Plan {
	if d.silent {
		return Plan{}
	}
	if !d.adopts {
		d.status.ObservedGeneration = d.Head.Meta.Generation
	}
	if d.statusDiffers() {
		if wait := d.statusDebounce(); wait > 0 {
			d.plan.Pending = true
			d.requeue(wait)
		} else {
			status := d.status
			d.plan.Status = &status
		}
	}
	if d.plan.Status == nil {
		// What is on record was counted when it was recorded.
		d.plan.Count = slices.DeleteFunc(d.plan.Count, func(c Count) bool { return c.Counter != CountDeleted && c.Counter != CountRestarted })
	}
	d.noteSuccesses()
	d.planEvents()
	return d.plan
}

// statusDiffers from that on record.
func (d *draft) statusDiffers() bool {
	return d.Head.Status.Unclean || !same(&d.Head.Status, &d.status, d.KeepsGeneration)
}

// requeue asks to look again after a while; the earliest wish wins.
func (d *draft) requeue(after time.Duration) {
	if d.plan.Requeue == 0 || after < d.plan.Requeue {
		d.plan.Requeue = after
	}
}

// measure counts what has taken from one time to another. Times are those of several clocks, and a status can be edited.
func (d *draft) measure(c Counter, until time.Time, from *metav1.Time) {
	took := time.Duration(0)
	if from != nil {
		took = max(until.Sub(from.Time), 0)
	}
	d.plan.Count = append(d.plan.Count, Count{Counter: c, Took: took})
}

func (d *draft) count(c Counter) { d.plan.Count = append(d.plan.Count, Count{Counter: c}) }

// full says that the plan is as long as a plan may be; the next one does the rest.
func (d *draft) full(list, bytes int) bool {
	if list < maxSteps && bytes < maxBytes {
		return false
	}
	d.requeue(soon)
	return true
}

const (
	// A reconcile deletes and creates at most this many objects each and posts at most about this many
	// bytes, so that one large job cannot keep a worker, or memory, to itself.
	maxSteps = 500
	maxBytes = 16 << 20

	soon = time.Millisecond
)
