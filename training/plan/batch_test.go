package plan

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"stoic/schema"
	"stoic/training"
	"stoic/training/kinds/v2beta1"
)

// TestTallyBatch: the pods of a batch/v1 Job that run are active. One that has succeeded is done at once: it is never a launcher of
// which neither is said, a second before its Job is complete.
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
		kind := v2beta1.MPIJob()
		head := &training.Head{Kind: kind}
		head.Meta.Name = "j"
		launcher := training.ReplicaType{KnownReplicaType: kind.ReplicaTypes[0], Replicas: 1}
		job := training.BatchJob{Child: schema.Child{Name: launcher.Child("j", 0), UID: "u"}, BatchState: &training.BatchState{Failed: 2, End: c.end}}
		d := &draft{Observed: Observed{Head: head, Job: &training.Job{Head: head, ReplicaTypes: []training.ReplicaType{launcher}},
			BatchJobs: []training.BatchJob{job}, BatchPods: c.pods, Now: time.Unix(1790000000, 0)}}
		counts := map[string]training.ReplicaStatus{}
		if d.tallyBatch(counts); counts[launcher.Name] != c.want {
			t.Errorf("%s: %+v, want %+v", name, counts[launcher.Name], c.want)
		}
	}
}
