package plan

import (
	"cmp"
	"maps"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"stoic/training"
)

// draft is an unfinished plan: what was observed, sorted, and what the rules have decided so far.
type draft struct {
	Observed
	now metav1.Time // Now as a status carries it: to the second

	replicas []replica // of the job, in order of replica type and index; none if it is rejected

	native *training.NativeVersion // of Kubernetes' own gang scheduling; nil: not used

	status training.Status // as it shall be
	ledger training.Ledger // as it shall be
	plan   Plan
	silent bool                 // write nothing at all
	runs   bool                 // the job is neither over nor suspended
	stale  bool                 // the ledger has successes of replicas that the job no longer has, or that have failed
	tail   string               // of the event that reports that a rejected spec was accepted
	wanted []training.Dependent // dependent objects of a job that continues
	waits  []wait               // what the job waits for
	kinds  []training.PodProblemKind
	// held are the replica types that may not start yet, because a dependent object that they read is not up to date.
	held []string
	// adopts: the plan creates a Job that an earlier operator may have created already. observedGeneration is only written in a
	// later reconcile, so that after a crash the next process tries again.
	adopts bool
	// failure is the pod that failed first, of those because of which this plan fails the job; nil if there is none.
	failure *training.FailedPod
}

// replica is a desired replica of the job and the children that exist for it.
type replica struct {
	replicaType *training.ReplicaType
	index       int
	name        string
	pod         *training.Pod // nil if missing
	// recorded: the stored ledger says that it has succeeded.
	recorded bool
	service  *training.Service // nil if missing
}

// newDraft returns a draft. It copies what it sorts or changes, so the observation is never modified.
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

// byName compares names, shorter ones first, so that index 9 of a replica type precedes 10.
func byName(a, b string) int {
	return cmp.Or(cmp.Compare(len(a), len(b)), cmp.Compare(a, b))
}

// tidy returns a copy of a status with one condition of each type and no zero time: written
// back, a zero time is a null, and the API server rejects the whole status.
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

// places returns the desired replicas of a job. A child belongs to a replica by its exact name; its labels
// are ignored, and no number read from a child is ever used as an index.
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

// finish returns the finished plan.
func (d *draft) finish() Plan {
	if d.silent {
		return Plan{}
	}
	d.noteWaits()
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
		// A status that is already stored was counted when it was written.
		d.plan.Count = slices.DeleteFunc(d.plan.Count, func(c Count) bool { return c.Counter != CountDeleted && c.Counter != CountRestarted })
	}
	d.noteSuccesses()
	d.planEvents()
	return d.plan
}

// statusDiffers reports whether the new status differs from the stored one.
func (d *draft) statusDiffers() bool {
	return d.Head.Status.Unclean || !same(&d.Head.Status, &d.status, d.worthGeneration())
}

// requeue requests another reconcile after a delay; the shortest delay wins.
func (d *draft) requeue(after time.Duration) {
	if d.plan.Requeue == 0 || after < d.plan.Requeue {
		d.plan.Requeue = after
	}
}

// measure counts with the time between from and until. It is never negative, although clocks differ and a status can be edited.
func (d *draft) measure(c Counter, until time.Time, from *metav1.Time) {
	took := time.Duration(0)
	if from != nil {
		took = max(until.Sub(from.Time), 0)
	}
	d.plan.Count = append(d.plan.Count, Count{Counter: c, Took: took})
}

func (d *draft) count(c Counter) { d.plan.Count = append(d.plan.Count, Count{Counter: c}) }

// full reports whether the plan has reached its maximum size. If so, it requeues for the rest.
func (d *draft) full(list, bytes int) bool {
	if list < maxSteps && bytes < maxBytes {
		return false
	}
	d.requeue(soon)
	return true
}

const (
	// A reconcile deletes and creates at most maxSteps objects each and posts about maxBytes at most, so that one
	// large job cannot occupy a worker or the memory.
	maxSteps = 500
	maxBytes = 16 << 20

	soon = time.Millisecond
)
