package plan

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"pgregory.net/rapid"

	"stoic/schema"
	"stoic/training"
)

// TestLateAndUnreliable: despite lagging caches, lost responses and errors, no plan breaks a rule, and nothing is created
// after a recorded terminal condition. When the faults end, the job converges by itself to its terminal condition.
func TestLateAndUnreliable(t *testing.T) {
	reconciles, writes := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		w := newCluster()
		w.knobs = w.anyKnobs(t)
		w.TTL, w.Gang, w.Native = nil, "", ""
		kind := rapid.Bool().Draw(t, "kind") // to the job: nothing happens that could fail it
		if kind {
			w.Deadline, w.Backoff = nil, nil
		}
		trouble := true
		o := newOperator(w, func() writeFault {
			if !trouble {
				return none
			}
			return rapid.SampledFrom([]writeFault{none, none, none, none, none, none, refused, unanswered, crash}).Draw(t, "write fault")
		})
		for range rapid.IntRange(1, 30).Draw(t, "steps") {
			switch rapid.IntRange(0, 3).Draw(t, "step") {
			case 0:
				o.happens(t, kind)
			case 1:
				cache := rapid.IntRange(0, 2).Draw(t, "cache")
				o.arrive(cache, rapid.IntRange(o.seen[cache], o.latest()).Draw(t, "to"))
			default:
				o.reconcile(t)
			}
		}
		trouble = false
		o.comesToRest(t)
		reconciles, writes = reconciles+o.tries, writes+o.writes
		if kind {
			o.checkChildren(t)
		}
		success := o.observed().Job.ReplicaType(o.observed().Job.Success.ReplicaType)
		got := o.status.Terminal()
		switch {
		case success == nil || success.Replicas == 0 || o.Dynamic && !kind:
		case kind && got != training.Succeeded, got == "":
			t.Fatalf("at rest, and the terminal condition is %q: %+v", got, o.status)
		}
	})
	if reconciles == 0 || writes == 0 { // how many there are is up to the draw
		t.Errorf("nothing was tried: %d reconciles, %d writes", reconciles, writes)
	}
}

// checkChildren checks the children of a job at rest: all of its replicas, or those that the clean-up leaves.
func (o *operator) checkChildren(t *rapid.T) {
	done := 0
	for _, p := range o.pods {
		if p.Phase == corev1.PodSucceeded {
			done++
		}
	}
	job := o.observed().Job
	all, gone := job.Replicas(), 0
	if o.status.Terminal() == "" {
		gone = o.goneSuccesses(job)
	} else {
		switch training.CleanPodPolicy(o.Clean) {
		case training.CleanAll:
			all = 0
		case training.CleanRunning:
			all = done
		default: // as they were when the end came, less what was deleted since
			all = len(o.pods)
		}
	}
	if len(o.pods) != all-gone || o.Clean != string(training.CleanNone) && len(o.services) != all {
		t.Fatalf("at rest with %d pods, %d of them done, and %d services, want %d, of which %d succeeded and are gone: %+v", len(o.pods), done, len(o.services), all, gone, o.status)
	}
}

// goneSuccesses returns how many replicas are recorded as succeeded and have no pod any more: they get no new one.
func (o *operator) goneSuccesses(job *training.Job) int {
	gone := 0
	for i := range job.ReplicaTypes {
		rtype := &job.ReplicaTypes[i]
		for index := range rtype.Replicas {
			if o.ledger.Succeeded[rtype.Label].Has(index) && o.pods[fmt.Sprintf("j-%s-%d", rtype.Label, index)] == nil {
				gone++
			}
		}
	}
	return gone
}

// happens changes the cluster as other clients do.
func (o *operator) happens(t *rapid.T, kind bool) {
	before, ledger := copyStatus(o.status), o.ledger
	if kind {
		o.happenKindly(t)
	} else {
		o.happen(t)
	}
	o.ours = o.ours && reflect.DeepEqual(before, copyStatus(o.status))
	if !reflect.DeepEqual(ledger, o.ledger) {
		clear(o.counted)
	}
	o.changed()
}

// happenKindly draws a harmless event: pods progress, are deleted or vanish; the user suspends, resumes or breaks the spec.
func (o *operator) happenKindly(t *rapid.T) {
	o.now = o.now.Add(time.Second)
	o.slow = rapid.Bool().Draw(t, "slow")
	switch rapid.IntRange(0, 6).Draw(t, "kind event") {
	case 0:
		o.Suspend = !o.Suspend
		o.meta.Generation++
	case 1:
		o.problems = nil
		o.meta.Generation++
		if rapid.Bool().Draw(t, "malformed") {
			o.problems = []schema.Problem{{Code: schema.MissingField, Path: "spec", Want: "be set"}}
		}
	default:
		names := slices.Sorted(maps.Keys(o.pods))
		if len(names) == 0 {
			return
		}
		p := o.pods[rapid.SampledFrom(names).Draw(t, "pod")]
		switch {
		case p.Deleting || rapid.IntRange(0, 5).Draw(t, "gone") == 0:
			delete(o.pods, p.Name)
		case rapid.IntRange(0, 5).Draw(t, "deleted") == 0:
			p.Deleting = true
		default:
			onward(p)
		}
	}
}

// onward moves a pod one phase towards success and reports whether it changed.
func onward(p *training.Pod) bool {
	switch p.Phase {
	case corev1.PodPending:
		p.Phase = corev1.PodRunning
	case corev1.PodRunning:
		p.Phase = corev1.PodSucceeded
	default:
		return false
	}
	return true
}

// comesToRest lets all caches catch up and all pods progress. Only real causes enqueue the job.
func (o *operator) comesToRest(t *rapid.T) {
	if o.Suspend || o.problems != nil {
		o.Suspend, o.problems = false, nil
		o.meta.Generation++
	}
	o.slow = false
	for quiet, round := 0, 0; quiet < 4; round++ {
		if round > 300 {
			t.Fatalf("no rest: %s", brief(Make(o.observed())))
		}
		before := len(o.past)
		o.settle()
		for _, p := range o.pods {
			onward(p)
		}
		o.changed()
		for cache := range o.seen {
			o.arrive(cache, o.latest())
		}
		if len(o.past) == before && o.due.After(o.now) {
			o.now = o.due // nothing else will happen before
		}
		o.reconcile(t)
		quiet++
		if len(o.past) != before {
			quiet = 0
		}
	}
	if p := Make(o.observed()); p.Status != nil || len(p.Delete)+len(p.Create) > 0 {
		t.Fatalf("at rest, and yet there is something to do that nobody would have looked for: %s", brief(p))
	}
}

// brief returns a plan as text, without bodies.
func brief(p Plan) string {
	var out strings.Builder
	printPlan(&out, p, false)
	return out.String()
}
