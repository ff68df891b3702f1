package plan

import (
	"math"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"stoic/training"
)

func TestOnlyMore(t *testing.T) {
	type counts = map[string]training.ReplicaStatus
	for name, c := range map[string]struct {
		old, found counts
		want       bool
	}{
		"nothing":               {counts{"Worker": {}}, counts{"Worker": {}}, true},
		"more run":              {counts{"Worker": {Active: 1}}, counts{"Worker": {Active: 7}}, true},
		"one is done":           {counts{"Worker": {Active: 2}}, counts{"Worker": {Active: 1, Succeeded: 1}}, true},
		"one is gone":           {counts{"Worker": {Active: 2}}, counts{"Worker": {Active: 1}}, false},
		"one failed":            {counts{"Worker": {Active: 2}}, counts{"Worker": {Active: 1, Failed: 1}}, false},
		"one failed, one runs":  {counts{"Worker": {Active: 2}}, counts{"Worker": {Active: 2, Failed: 1}}, false},
		"a failure is repaired": {counts{"Worker": {Failed: 1}}, counts{"Worker": {Active: 1}}, false},
		"one is done no more":   {counts{"Worker": {Succeeded: 1}}, counts{"Worker": {Active: 1}}, false},
		"counts near their end": {counts{"Worker": {Active: 1<<31 - 1, Succeeded: 1<<31 - 1}}, counts{"Worker": {Active: 1, Succeeded: 1<<31 - 1}}, false},
	} {
		if got := onlyMore(c.old, c.found); got != c.want {
			t.Errorf("%s: got %v", name, got)
		}
	}
}

func TestSameReplicaTypes(t *testing.T) {
	type counts = map[string]training.ReplicaStatus
	for name, c := range map[string]struct {
		old, found counts
		want       bool
	}{
		"numbers":               {counts{"Worker": {Active: 1}}, counts{"Worker": {Failed: 7}}, true},
		"a replica type is new": {counts{}, counts{"Worker": {}}, false},
		"another replica type":  {counts{"PS": {}}, counts{"Worker": {}}, false},
		"a selector":            {counts{"Worker": {}}, counts{"Worker": {Selector: "a=b"}}, false},
	} {
		if got := sameReplicaTypes(c.old, c.found); got != c.want {
			t.Errorf("%s: got %v", name, got)
		}
	}
}

// TestDebounce: a status with only more running replicas waits until the last one is old enough; any other change does not.
func TestDebounce(t *testing.T) {
	w := newCluster()
	three := 3
	w.ReplicaTypes = map[string]replicaTypeKnobs{"Worker": {Replicas: &three}}
	start := func(name string) {
		p := w.pods[name]
		p.Phase = "Running"
		w.pods[name] = p
	}
	for _, name := range []string{"", "j-worker-0"} {
		if name != "" {
			start(name)
		}
		w.step(t)
	}
	recorded := w.now
	start("j-worker-1")
	at := func(after, pending time.Duration) Plan {
		o := w.observe()
		o.WrittenAt, o.Now = recorded, recorded.Add(after)
		if pending >= 0 {
			o.PendingSince = o.Now.Add(-pending)
		}
		return Make(o)
	}
	const unknown = time.Duration(-1)
	waits := func(when string, p Plan, want time.Duration) {
		t.Helper()
		if p.Status != nil || !p.Pending || p.Requeue != want {
			t.Errorf("%s: status %v, pending %v, recheck in %s, want none, true, %s", when, p.Status, p.Pending, p.Requeue, want)
		}
	}
	waits("after half a second", at(500*time.Millisecond, unknown), minDebounce-500*time.Millisecond)
	waits("just before the debounce is over", at(minDebounce-time.Millisecond, unknown), settleFor)
	waits("after an hour, as a new change", at(time.Hour, unknown), settleFor)
	waits("after an hour, half settled", at(time.Hour, settleFor/2), settleFor/2)
	waits("settled, before the debounce is over", at(minDebounce/2, settleFor), minDebounce/2)
	if p := at(minDebounce, settleFor); p.Status == nil || p.Pending || p.Status.ReplicaStatuses["Worker"].Active != 2 {
		t.Errorf("when the debounce is over: status %+v, pending %v", p.Status, p.Pending)
	}
	if p := at(-time.Second, unknown); p.Status == nil {
		t.Error("a clock that went back keeps the status from being written")
	}
	pod := w.pods["j-worker-0"]
	pod.Phase = "Failed"
	w.pods["j-worker-0"] = pod
	if p := at(0, unknown); p.Status == nil {
		t.Error("a failure that changes a condition waits")
	}
	delete(w.pods, "j-worker-0")
	delete(w.pods, "j-worker-1")
	waits("a failure, just after a write", at(0, unknown), failureDebounce)
	if p := at(failureDebounce, unknown); p.Status == nil || p.Status.ReplicaStatuses["Worker"].Active != 0 {
		t.Errorf("a failed pod: status %+v", p.Status)
	}
}

// TestDebounceAfter: if the first replica took long to run, changes of the others wait as long, up to a limit.
func TestDebounceAfter(t *testing.T) {
	start := metav1.NewTime(time.Unix(1790000000, 0))
	ran := func(after time.Duration, more ...training.ConditionType) *training.Status {
		s := &training.Status{StartTime: &start, Conditions: []training.Condition{{Type: training.Running, Status: "True", LastTransitionTime: metav1.NewTime(start.Add(after))}}}
		for _, m := range more {
			s.Conditions = append(s.Conditions, training.Condition{Type: m, Status: "False"})
		}
		return s
	}
	unstarted := ran(time.Minute)
	unstarted.StartTime = nil
	for name, c := range map[string]struct {
		status *training.Status
		age    time.Duration // of the job when it started
		want   time.Duration
	}{
		"nothing known":                     {&training.Status{}, 0, minDebounce},
		"no start":                          {unstarted, 0, minDebounce},
		"at once":                           {ran(0), 0, minDebounce},
		"soon":                              {ran(time.Second), 0, minDebounce},
		"slowly":                            {ran(12 * time.Second), 0, 12 * time.Second},
		"after an hour in a queue":          {ran(time.Hour), 0, maxDebounce},
		"before it started":                 {ran(-time.Hour), 0, minDebounce},
		"later, as it was restarted":        {ran(time.Hour, training.Restarting), 0, minDebounce},
		"in another age":                    {ran(math.MaxInt64), 0, maxDebounce},
		"started late":                      {ran(5 * time.Second), 6 * time.Second, 11 * time.Second},
		"started late, as it was suspended": {ran(5*time.Second, training.Suspended), 6 * time.Second, minDebounce},
		"created after it started":          {ran(12 * time.Second), -4 * time.Second, 12 * time.Second},
		"restarted, and old":                {ran(time.Second, training.Restarting), time.Hour, minDebounce},
	} {
		head := &training.Head{Status: *c.status}
		head.Meta.CreationTimestamp = metav1.NewTime(start.Add(-c.age))
		if got := debounceAfter(head); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
	if got := debounceAfter(&training.Head{Status: *ran(12 * time.Second)}); got != 12*time.Second {
		t.Errorf("of unknown age: %s", got)
	}
}
