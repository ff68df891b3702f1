package plan

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"stoic/schema"
	"stoic/training"
	"stoic/training/kinds/v2beta1"
)

// TestTallyBatch: the running pods of a batch/v1 Job are active. A succeeded pod counts immediately: otherwise the launcher
// would be neither active nor succeeded for the second until its Job is complete.
func TestTallyBatch(t *testing.T) {
	pod := func(phase corev1.PodPhase, through types.UID) training.Pod {
		return training.Pod{Phase: phase, Through: through}
	}
	going := pod(corev1.PodRunning, "u")
	going.Deleting = true
	for name, c := range map[string]struct {
		end  training.BatchEnd
		pods []training.Pod
		want training.ReplicaStatus
	}{
		"no pod":                          {want: training.ReplicaStatus{Failed: 2}},
		"runs":                            {pods: []training.Pod{pod(corev1.PodRunning, "u")}, want: training.ReplicaStatus{Active: 1, Failed: 2}},
		"runs after one that failed":      {pods: []training.Pod{pod(corev1.PodFailed, "u"), pod(corev1.PodRunning, "u")}, want: training.ReplicaStatus{Active: 1, Failed: 2}},
		"waits":                           {pods: []training.Pod{pod(corev1.PodPending, "u")}, want: training.ReplicaStatus{Failed: 2}},
		"is deleted":                      {pods: []training.Pod{going}, want: training.ReplicaStatus{Failed: 2}},
		"is another Job's":                {pods: []training.Pod{pod(corev1.PodRunning, "x"), pod(corev1.PodSucceeded, "x")}, want: training.ReplicaStatus{Failed: 2}},
		"has succeeded, the Job runs":     {pods: []training.Pod{pod(corev1.PodSucceeded, "u")}, want: training.ReplicaStatus{Succeeded: 1, Failed: 2}},
		"has succeeded, so has the Job":   {training.BatchComplete, []training.Pod{pod(corev1.PodSucceeded, "u")}, training.ReplicaStatus{Succeeded: 1, Failed: 2}},
		"is gone, the Job has succeeded":  {training.BatchComplete, nil, training.ReplicaStatus{Succeeded: 1, Failed: 2}},
		"has succeeded, the Job has not":  {training.BatchFailed, []training.Pod{pod(corev1.PodSucceeded, "u")}, training.ReplicaStatus{Failed: 2}},
		"runs on after its Job succeeded": {training.BatchComplete, []training.Pod{pod(corev1.PodRunning, "u")}, training.ReplicaStatus{Succeeded: 1, Failed: 2}},
	} {
		d := withBatch(c.end)
		d.BatchPods = c.pods
		counts := map[string]training.ReplicaStatus{}
		if d.tallyBatch(counts); counts[d.Job.ReplicaTypes[0].Name] != c.want {
			t.Errorf("%s: %+v, want %+v", name, counts[d.Job.ReplicaTypes[0].Name], c.want)
		}
	}
}

// TestCleanBatchPods: cleanPodPolicy All deletes the pods of our Job, but not those of another Job with our label.
func TestCleanBatchPods(t *testing.T) {
	d := withBatch(training.BatchComplete)
	d.Job.Policy.CleanPods = training.CleanAll
	d.BatchPods = []training.Pod{{Name: "ours", Through: "u"}, {Name: "by-hand", Through: "x"}}
	if d.cleanBatch(); len(d.plan.Delete) != 1 || d.plan.Delete[0].Name != "ours" {
		t.Errorf("deleted: %+v", d.plan.Delete)
	}
}

// TestCompleted: the completion time is that of the batch/v1 Job, but neither before the start time nor in the future.
func TestCompleted(t *testing.T) {
	at := func(seconds int64) *metav1.Time { return &metav1.Time{Time: time.Unix(1790000000+seconds, 0)} }
	for name, c := range map[string]struct {
		says, start *metav1.Time
		want        int64
	}{
		"nothing":          {nil, at(-60), 0},
		"a while ago":      {at(-30), at(-60), -30},
		"no start":         {at(-30), nil, -30},
		"before the start": {at(-90), at(-60), -60},
		"in the future":    {at(90), at(-60), 0},
		"year 1":           {&metav1.Time{}, at(-60), -60},
	} {
		d := withBatch(training.BatchComplete)
		d.status.StartTime = c.start
		if got := d.completed(&training.BatchJob{BatchState: &training.BatchState{Completed: c.says}}); !got.Equal(at(c.want)) {
			t.Errorf("%s: %v, want %v", name, got, at(c.want))
		}
	}
}

// withBatch returns the draft of an MPIJob whose only child is its batch/v1 Job.
func withBatch(end training.BatchEnd) *draft {
	kind := v2beta1.MPIJob()
	head := &training.Head{Kind: kind}
	head.Meta.Name = "j"
	launcher := training.ReplicaType{KnownReplicaType: kind.ReplicaTypes[0], Replicas: 1}
	job := training.BatchJob{Child: schema.Child{Name: launcher.Child("j", 0), UID: "u"}, BatchState: &training.BatchState{Failed: 2, End: end}}
	now := time.Unix(1790000000, 0)
	return &draft{now: metav1.Time{Time: now}, Observed: Observed{Head: head, Job: &training.Job{Head: head, ReplicaTypes: []training.ReplicaType{launcher}},
		BatchJobs: []training.BatchJob{job}, Now: now}}
}
