package plan

import (
	"reflect"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"pgregory.net/rapid"

	"stoic/schema"
	"stoic/training"
)

// operator executes plans in a cluster with lagging caches, lost responses and crashes, like the controller:
//
//	observe   each of three caches lags independently, skips states, never goes back; a reconcile waits for a cache that
//	          is older than its own writes
//	status    a conflict if the job has changed since it was observed
//	ledger    the same; if it is not written, nothing is deleted
//	delete    one object, with a UID precondition
//	create    succeeds if the object exists
//	any write may fail, or succeed and return an error; after an error nothing that depends on it is done
//
// A reconcile needs a cause: a changed cache (but not by our own status), an expired requeue, children that were created a
// second ago, an error, a start.
type operator struct {
	*cluster             // what is true
	past       []moment  // what was true, ending with what is
	seen       [3]int    // how far each cache is in past
	required   [3]int    // how far it must be
	due        time.Time // when the next reconcile is wanted; zero: never
	waits      bool      // a reconcile was put off for its caches
	writeFault func() writeFault
	// ours: the stored status is the last one that the operator wrote.
	ours bool
	// counted are the failed pods in the ledger since another client last changed it.
	counted map[types.UID]bool
	// doubt: a write succeeded, but returned an error.
	doubt bool
	// tries counts reconciles, writes counts writes that took effect.
	tries, writes int
}

// The caches.
const (
	ofJob = iota
	ofPods
	ofServices
)

// moment is one state of the cluster.
type moment struct {
	knobs    knobs
	meta     metav1.ObjectMeta
	status   training.Status
	ledger   training.Ledger
	problems []schema.Problem
	version  int // since when the job is so
	pods     map[string]training.Pod
	services map[string]training.Service
}

// writeFault is a fault of a write.
type writeFault int

const (
	none writeFault = iota
	refused
	unanswered // it was executed, but the response was lost
	crash
)

func newOperator(w *cluster, writeFault func() writeFault) *operator {
	o := &operator{cluster: w, writeFault: writeFault, counted: map[types.UID]bool{}}
	o.changed()
	o.restart()
	return o
}

// restart reads all caches again, forgets all state in memory, and enqueues the job.
func (o *operator) restart() {
	o.seen = [3]int{o.latest(), o.latest(), o.latest()}
	o.required, o.waits, o.due = [3]int{}, false, o.now
}

func (o *operator) latest() int { return len(o.past) - 1 }

// changed records the state of the cluster, if it has changed.
func (o *operator) changed() {
	m := moment{knobs: o.knobs, meta: *o.meta.DeepCopy(), status: copyStatus(o.status), ledger: o.ledger, problems: o.problems,
		pods: map[string]training.Pod{}, services: map[string]training.Service{}, version: len(o.past)}
	for name, p := range o.pods {
		m.pods[name] = *p
	}
	for name, s := range o.services {
		m.services[name] = *s
	}
	if len(o.past) > 0 {
		last := o.past[o.latest()]
		if reflect.DeepEqual([]any{m.knobs, m.meta, m.status, m.ledger, m.problems},
			[]any{last.knobs, last.meta, last.status, last.ledger, last.problems}) {
			m.version = last.version
		}
		if reflect.DeepEqual(m, last) {
			return
		}
	}
	o.past = append(o.past, m)
}

// arrive updates one cache to a later state and enqueues the job if the update concerns it.
func (o *operator) arrive(cache, to int) {
	was, is := o.past[o.seen[cache]], o.past[to]
	o.seen[cache] = to
	wakes := false
	switch cache {
	case ofJob:
		wakes = was.version != is.version && (is.version != o.required[ofJob] || o.waits)
		o.waits = o.waits && was.version == is.version
	case ofPods:
		wakes = !reflect.DeepEqual(was.pods, is.pods)
	case ofServices:
		wakes = !reflect.DeepEqual(was.services, is.services)
	}
	if wakes {
		o.wish(0)
	}
}

func (o *operator) wish(after time.Duration) {
	if at := o.now.Add(after); o.due.IsZero() || at.Before(o.due) {
		o.due = at
	}
}

// observed returns the cluster as in the caches.
func (o *operator) observed() Observed {
	at := o.past[o.seen[ofJob]]
	w := *o.cluster
	w.knobs, w.meta, w.status, w.ledger, w.problems = at.knobs, at.meta, copyStatus(at.status), at.ledger, at.problems
	w.pods, w.services = map[string]*training.Pod{}, map[string]*training.Service{}
	for name, p := range o.past[o.seen[ofPods]].pods {
		w.pods[name] = &p
	}
	for name, s := range o.past[o.seen[ofServices]].services {
		w.services[name] = &s
	}
	return w.observe()
}

// reconcile reconciles once, if it is due.
func (o *operator) reconcile(t *rapid.T) {
	if o.due.IsZero() || o.due.After(o.now) {
		return
	}
	o.due = time.Time{}
	o.tries++
	for cache := range o.seen {
		if o.seen[cache] < o.required[cache] {
			o.waits = true
			o.wish(time.Second)
			return
		}
	}
	o.required[ofPods], o.required[ofServices], o.waits = 0, 0, false
	at := o.past[o.seen[ofJob]].version
	seen := o.observed()
	p := Make(seen)
	checkPlan(t, seen, p)
	switch sound, killed := o.execute(t, at, p); {
	case killed:
		o.restart()
		return
	case !sound:
		o.wish(50 * time.Millisecond)
	case len(p.Create) > 0:
		o.wish(time.Second)
	}
	if p.Requeue > 0 {
		o.wish(p.Requeue)
	}
}

// execute executes a plan in its order.
func (o *operator) execute(t *rapid.T, version int, p Plan) (sound, killed bool) {
	sound = true
	if p.Status != nil {
		if o.past[o.latest()].version != version {
			return false, false
		}
		if done, killed := o.write(ofJob, func() { o.status, o.ours = *p.Status, true }); !done {
			return false, killed
		}
		version = o.past[o.latest()].version
	}
	if p.Ledger != nil {
		done, killed := false, false
		if o.past[o.latest()].version == version {
			done, killed = o.write(ofJob, func() { o.enter(t, *p.Ledger) })
		}
		if killed {
			return false, true
		}
		if sound = done; !done {
			p.Delete = nil
		}
	}
	for _, d := range p.Delete {
		cache := ofPods
		if d.Resource == schema.Services() {
			cache = ofServices
		}
		done, killed := o.write(cache, func() { o.take(t, d) })
		if killed {
			return false, true
		}
		sound = sound && done
	}
	for _, c := range p.Create {
		cache := ofPods
		if c.Resource == schema.Services() {
			cache = ofServices
		}
		if done, killed := o.write(cache, func() { o.put(t, c) }); !done {
			return false, killed
		}
	}
	return sound, false
}

// write executes a write, unless a fault prevents it, and reports whether it returned success. After a success, the cache
// must be at least as new as the write.
func (o *operator) write(cache int, do func()) (done, killed bool) {
	outcome := o.writeFault()
	if outcome == refused {
		return false, false
	}
	do()
	o.changed()
	o.writes++
	o.doubt = o.doubt || outcome == unanswered
	if outcome == none {
		o.required[cache] = o.latest()
	}
	return outcome == none, outcome == crash
}

// enter writes a ledger. No pod is counted twice.
func (o *operator) enter(t *rapid.T, ledger training.Ledger) {
	for name, failure := range ledger.Failed {
		if o.ledger.Failed[name] == failure {
			continue
		}
		if o.counted[failure.Pod] {
			t.Fatalf("pod %s of %s is counted twice", failure.Pod, name)
		}
		o.counted[failure.Pod] = true
	}
	o.ledger = ledger
}

func (o *operator) take(t *rapid.T, d Deletion) {
	p, s := o.pods[d.Name], o.services[d.Name]
	if d.Resource == schema.Pods() && (p == nil || p.UID != d.UID || p.Deleting) ||
		d.Resource == schema.Services() && (s == nil || s.UID != d.UID || s.Deleting) {
		return // already deleted, or replaced by another one
	}
	if err := o.remove(d); err != nil {
		t.Fatal(err)
	}
}

// put creates an object. The plan may be outdated by changes of other clients, but not by the operator's own status.
func (o *operator) put(t *rapid.T, c schema.Object) {
	if c.Resource == schema.Pods() && o.pods[c.Name] != nil || c.Resource == schema.Services() && o.services[c.Name] != nil {
		if !o.doubt {
			t.Fatalf("%s is created twice", c.Name)
		}
		return
	}
	if o.ours && (terminal(&o.status) != "" || o.status.Is(training.Suspended)) {
		t.Fatalf("%s is created for a job that is %v on record", c.Name, o.status.Conditions)
	}
	if err := o.create(c); err != nil {
		t.Fatal(err)
	}
	if c.Resource == schema.Pods() {
		o.pods[c.Name].Created = o.now
	}
}
