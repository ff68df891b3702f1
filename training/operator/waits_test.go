package operator

import (
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"stoic/internal/lean"
	"stoic/training"
)

// TestWaitOf: what is kept of a pod that waits, as API servers send it; nothing of one that runs.
func TestWaitOf(t *testing.T) {
	at := metav1.NewTime(time.Unix(1790000000, 0))
	waiting := func(reason string) corev1.ContainerState {
		return corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: reason}}
	}
	running := corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}
	ended := func(code int32) corev1.ContainerState {
		return corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: code, FinishedAt: at}}
	}
	ready := func(status corev1.ConditionStatus, reason string) []corev1.PodCondition {
		return []corev1.PodCondition{{Type: corev1.PodReady, Status: status, Reason: reason}}
	}
	gone := metav1.ObjectMeta{DeletionTimestamp: &at}
	ending := &training.Ending{At: at.Time}
	inits := func(all ...corev1.ContainerStatus) corev1.Pod {
		return corev1.Pod{Spec: corev1.PodSpec{NodeName: "n"}, Status: corev1.PodStatus{Phase: corev1.PodPending, InitContainerStatuses: all}}
	}
	one := func(phase corev1.PodPhase, conditions []corev1.PodCondition, ready bool) corev1.Pod {
		return corev1.Pod{ObjectMeta: gone, Spec: corev1.PodSpec{NodeName: "n"}, Status: corev1.PodStatus{Phase: phase, Conditions: conditions,
			ContainerStatuses: []corev1.ContainerStatus{{Name: "a", State: running, Ready: ready}}}}
	}
	two := func(phase corev1.PodPhase, a, b corev1.ContainerState) corev1.Pod {
		return corev1.Pod{Status: corev1.PodStatus{Phase: phase, ContainerStatuses: []corev1.ContainerStatus{{Name: "a", State: a}, {Name: "b", State: b}}}}
	}
	yes := true
	ofJob := two(corev1.PodFailed, ended(1), ended(0))
	ofJob.OwnerReferences = []metav1.OwnerReference{{Kind: "Job", Controller: &yes}}
	for name, c := range map[string]struct {
		pod  corev1.Pod
		want *training.PodWait
	}{
		"runs":                                   {two(corev1.PodRunning, running, running), nil},
		"has succeeded":                          {two(corev1.PodSucceeded, ended(0), ended(0)), nil},
		"has failed":                             {two(corev1.PodFailed, ended(1), ended(0)), nil},
		"has failed, of a Job":                   {ofJob, &training.PodWait{Ended: at.Time}},
		"a sidecar runs on":                      {two(corev1.PodRunning, ended(0), running), &training.PodWait{Ended: at.Time, RunsOn: "b"}},
		"is not seen by a scheduler":             {corev1.Pod{Spec: corev1.PodSpec{SchedulerName: "volcano"}}, &training.PodWait{Scheduler: "volcano"}},
		"the default scheduler":                  {corev1.Pod{Spec: corev1.PodSpec{SchedulerName: "default-scheduler"}}, &training.PodWait{}},
		"is bound":                               {corev1.Pod{Spec: corev1.PodSpec{NodeName: "n", SchedulerName: "volcano"}}, &training.PodWait{Node: "n"}},
		"no init container has begun":            {inits(corev1.ContainerStatus{Name: "i", State: waiting("PodInitializing")}), &training.PodWait{Node: "n"}},
		"the first init container runs":          {inits(corev1.ContainerStatus{Name: "i", State: running}, corev1.ContainerStatus{Name: "j", State: waiting("PodInitializing")}), &training.PodWait{Node: "n", Init: "i"}},
		"the second one runs":                    {inits(corev1.ContainerStatus{Name: "i", State: ended(0)}, corev1.ContainerStatus{Name: "j", State: running}), &training.PodWait{Node: "n", Init: "j"}},
		"it follows a sidecar":                   {inits(corev1.ContainerStatus{Name: "i", State: running, Ready: true}, corev1.ContainerStatus{Name: "j", State: running}), &training.PodWait{Node: "n", Init: "j"}},
		"a sidecar is ready":                     {inits(corev1.ContainerStatus{Name: "i", State: running, Ready: true}), &training.PodWait{Node: "n"}},
		"an init container has failed":           {inits(corev1.ContainerStatus{Name: "i", State: ended(1)}), &training.PodWait{Node: "n", Init: "i"}},
		"again and again":                        {inits(corev1.ContainerStatus{Name: "i", State: waiting("CrashLoopBackOff"), RestartCount: 3}), &training.PodWait{Node: "n", Init: "i"}},
		"all init containers have ended":         {inits(corev1.ContainerStatus{Name: "i", State: ended(0)}), &training.PodWait{Node: "n"}},
		"is deleted":                             {one(corev1.PodRunning, ready("True", ""), true), &training.PodWait{Ending: ending, Node: "n"}},
		"is deleted, its node does not answer":   {one(corev1.PodRunning, ready("False", ""), true), &training.PodWait{Ending: ending, Node: "n", NodeLost: true}},
		"is deleted, the kubelet says not ready": {one(corev1.PodRunning, ready("False", "ContainersNotReady"), false), &training.PodWait{Ending: ending, Node: "n"}},
		"is deleted, a readiness gate":           {one(corev1.PodRunning, ready("False", "ReadinessGatesNotReady"), true), &training.PodWait{Ending: ending, Node: "n"}},
		"is deleted for a taint": {one(corev1.PodRunning, []corev1.PodCondition{{Type: corev1.DisruptionTarget, Status: "True", Reason: "DeletionByTaintManager"}}, true),
			&training.PodWait{Ending: ending, Node: "n", NodeLost: true}},
		"is held": {corev1.Pod{ObjectMeta: metav1.ObjectMeta{DeletionTimestamp: &at, Finalizers: []string{"a/b", "c\nd", "e", "f", "g", "h"}}},
			&training.PodWait{Ending: &training.Ending{At: at.Time, Finalizers: []string{"a/b", "c d", "e", "f", "g"}}}},
	} {
		data, err := c.pod.Marshal()
		if err != nil {
			t.Fatal(err)
		}
		var read lean.Object
		if err := read.Unmarshal(data); err != nil {
			t.Fatal(err)
		}
		if diff := gocmp.Diff(c.want, waitOf(&read)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func TestSlimService(t *testing.T) {
	at := metav1.NewTime(time.Unix(1790000000, 0))
	if got := slimService(&lean.Object{}); got != nil {
		t.Errorf("of one that stays: %v", got)
	}
	want := &training.Ending{At: at.Time, Finalizers: []string{"a/b"}}
	if diff := gocmp.Diff(any(want), slimService(&lean.Object{ObjectMeta: metav1.ObjectMeta{DeletionTimestamp: &at, Finalizers: []string{"a/b"}}})); diff != "" {
		t.Error(diff)
	}
}
