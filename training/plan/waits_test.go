package plan

import (
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"stoic/schema"
	"stoic/training"
	"stoic/training/kinds/v2beta1"
)

// TestSlowStartCostsFewWrites: a hundred pods start one by one, one in five seconds, so that the job waits for most of them for longer
// than a minute. The note costs one write more than the counts do.
func TestSlowStartCostsFewWrites(t *testing.T) {
	run := func(ages bool) (writes int, noted string) {
		w := newCluster()
		number := 100
		w.ReplicaTypes, w.aging = map[string]replicaTypeKnobs{"Worker": {Replicas: &number}}, ages
		w.step(t)
		written, pending := w.now, time.Time{}
		for second := range 600 {
			w.now = w.now.Add(time.Second)
			if second%5 == 4 && second < 500 {
				p := w.pods[fmt.Sprintf("j-worker-%d", (second/5*37)%number)] // in no order
				p.Phase, p.Wait = corev1.PodRunning, nil
			}
			o := w.observe()
			o.WrittenAt, o.PendingSince = written, pending
			p := Make(o)
			checkPlan(t, o, p)
			switch {
			case p.Status != nil:
				written, pending = w.now, time.Time{}
				writes++
				if note := noteIn(p.Status); note != "" {
					noted = note
				}
			case !p.Pending:
				pending = time.Time{}
			case pending.IsZero():
				pending = w.now
			}
			if err := w.apply(p); err != nil {
				t.Fatal(err)
			}
		}
		if left := noteIn(&w.status); left != "" || w.status.ReplicaStatuses["Worker"].Active != 100 {
			t.Errorf("at the end: %q, %+v", left, w.status.ReplicaStatuses)
		}
		return writes, noted
	}
	without, _ := run(false)
	with, noted := run(true)
	if with > without+2 || !strings.Contains(noted, "has not started") {
		t.Errorf("%d writes, and %d without notes; the last note was %q", with, without, noted)
	}
	t.Logf("%d writes, and %d without notes", with, without)
}

// TestNotesAreRemovedFromMessages: a note ends a message of ours, and no other message is cut.
func TestNotesAreRemovedFromMessages(t *testing.T) {
	for _, c := range []struct {
		kind                training.ConditionType
		said, message, note string
	}{
		{training.Running, "TFJob a/b is running.", "TFJob a/b is running.", ""},
		{training.Running, "TFJob a/b is running. Waiting: pod b-0: x", "TFJob a/b is running.", "pod b-0: x"},
		{training.Suspended, " Waiting: x Waiting: y", "", "x Waiting: y"},
		{training.Failed, "the policy said: Waiting: no", "the policy said: Waiting: no", ""},
	} {
		message, note := splitNote(&training.Condition{Type: c.kind, Message: c.said})
		if message != c.message || note != c.note {
			t.Errorf("%q: %q and %q", c.said, message, note)
		}
	}
}

// TestNoteIsStable: a note stays while it is true of its pod, even if another pod has waited for longer, or is the last one.
func TestNoteIsStable(t *testing.T) {
	w := newCluster()
	three := 3
	w.ReplicaTypes, w.aging = map[string]replicaTypeKnobs{"Worker": {Replicas: &three}}, true
	w.step(t)
	w.pods["j-worker-2"].Phase = corev1.PodRunning
	w.now = w.now.Add(waitsAfter)
	w.step(t)
	first := noteIn(&w.status)
	w.pods["j-worker-2"].Phase = corev1.PodPending
	w.step(t)
	if again := noteIn(&w.status); first == "" || again != first {
		t.Errorf("%q, then %q", first, again)
	}
	w.pods["j-worker-1"].Phase = corev1.PodRunning
	w.step(t)
	if last := noteIn(&w.status); !strings.HasPrefix(last, "pod j-worker-2: ") {
		t.Errorf("when that one runs: %q", last)
	}
}

// TestEmptyJob: a batch/v1 Job that runs without a pod is reported a minute after its start, or after the end of its last pod.
func TestEmptyJob(t *testing.T) {
	start := epoch.Add(-time.Hour)
	failed := func(ago time.Duration) training.Pod {
		return training.Pod{Phase: corev1.PodFailed, Through: "u", Wait: &training.PodWait{Ended: epoch.Add(-ago)}}
	}
	for name, c := range map[string]struct {
		job  training.BatchState
		pods []training.Pod
		want bool
	}{
		"no pod":                      {training.BatchState{StartedAt: start}, nil, true},
		"no pod yet":                  {training.BatchState{StartedAt: epoch.Add(-waitsAfter / 2)}, nil, false},
		"it is not known since when":  {training.BatchState{}, nil, false},
		"a pod that is not seen":      {training.BatchState{StartedAt: start, Active: 1}, nil, false},
		"suspended":                   {training.BatchState{StartedAt: start, Suspended: true}, nil, false},
		"complete":                    {training.BatchState{StartedAt: start, End: training.BatchComplete}, nil, false},
		"a pod that waits":            {training.BatchState{StartedAt: start}, []training.Pod{{Phase: corev1.PodPending, Through: "u"}}, false},
		"a pod of another Job":        {training.BatchState{StartedAt: start}, []training.Pod{{Phase: corev1.PodPending, Through: "x"}}, true},
		"a pod that has failed":       {training.BatchState{StartedAt: start}, []training.Pod{failed(time.Minute)}, true},
		"a pod that has just failed":  {training.BatchState{StartedAt: start}, []training.Pod{failed(time.Hour), failed(time.Second)}, false},
		"a pod that failed, and runs": {training.BatchState{StartedAt: start}, []training.Pod{failed(time.Hour), {Phase: corev1.PodRunning, Through: "u"}}, false},
	} {
		kind := v2beta1.MPIJob()
		head := &training.Head{Kind: kind}
		launcher := training.ReplicaType{KnownReplicaType: kind.ReplicaTypes[0], Replicas: 1}
		job := training.BatchJob{Child: schema.Child{Name: launcher.Child("", 0), UID: "u"}, BatchState: &c.job}
		d := &draft{Observed: Observed{Head: head, Job: &training.Job{Head: head, ReplicaTypes: []training.ReplicaType{launcher}},
			BatchJobs: []training.BatchJob{job}, BatchPods: c.pods, Now: epoch}}
		if found := d.emptyJob(nil); (len(found) > 0) != c.want {
			t.Errorf("%s: %v", name, found)
		}
	}
}

// TestUndisturbedJobHasNoWait: pods that run cause neither a note nor a requeue.
func TestUndisturbedJobHasNoWait(t *testing.T) {
	w := newCluster()
	three := 3
	w.ReplicaTypes, w.aging = map[string]replicaTypeKnobs{"Worker": {Replicas: &three}}, true
	w.step(t)
	for _, p := range w.pods {
		p.Phase, p.Wait = corev1.PodRunning, nil
	}
	w.step(t)
	for range 3 {
		w.now = w.now.Add(time.Hour)
		if p := Make(w.observe()); p.Status != nil || p.Requeue != 0 || len(p.Events) > 0 {
			t.Errorf("%+v", p)
		}
	}
	allocations := testing.AllocsPerRun(10, func() {
		d := newDraft(w.observe())
		d.findWaits()
	})
	base := testing.AllocsPerRun(10, func() { newDraft(w.observe()) })
	if allocations > base+3 {
		t.Errorf("%v allocations, and %v without the rules", allocations, base)
	}
}
