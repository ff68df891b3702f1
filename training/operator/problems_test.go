package operator

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"pgregory.net/rapid"

	"stoic/controller/lean"
	"stoic/training"
)

func waiting(name, reason, message string) lean.Container {
	return lean.Container{Name: name, State: lean.State{Waiting: &lean.Waiting{Reason: reason, Message: message}}}
}

// TestProblemOf covers what kubelets, the scheduler and controllers of Kubernetes 1.36 report about pods that cannot run.
func TestProblemOf(t *testing.T) {
	unscheduled := func(reason, message string) []lean.Condition {
		return []lean.Condition{{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: reason, Message: message}}
	}
	disrupted := func(reason string) []lean.Condition {
		return []lean.Condition{{Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue, Reason: reason, Message: "m"}}
	}
	pending := func(containers ...lean.Container) lean.Status {
		return lean.Status{Phase: corev1.PodPending, Containers: containers}
	}
	failed := func(reason string) lean.Status {
		return lean.Status{Phase: corev1.PodFailed, Reason: reason, Message: "m"}
	}
	for name, c := range map[string]struct {
		status lean.Status
		want   string // reason and detail; "" is none
	}{
		"new":                {lean.Status{Phase: corev1.PodPending}, ""},
		"unschedulable":      {lean.Status{Phase: corev1.PodPending, Conditions: unscheduled("Unschedulable", "0/3 nodes")}, "PodUnschedulable 0/3 nodes"},
		"scheduler error":    {lean.Status{Phase: corev1.PodPending, Conditions: unscheduled("SchedulerError", "m")}, "PodUnschedulable m"},
		"gated":              {lean.Status{Phase: corev1.PodPending, Conditions: unscheduled("SchedulingGated", "m")}, "PodSchedulingGated m"},
		"its turn":           {pending(waiting("a", "ContainerCreating", ""), waiting("b", "PodInitializing", ""), waiting("c", "", "")), ""},
		"pull":               {pending(waiting("a", "ErrImagePull", "no such image")), "PodImageFailed container a: ErrImagePull: no such image"},
		"pull again":         {pending(waiting("a", "ImagePullBackOff", "m")), "PodImageFailed container a: ImagePullBackOff: m"},
		"name of an image":   {pending(waiting("a", "InvalidImageName", "m")), "PodImageFailed container a: InvalidImageName: m"},
		"config":             {pending(waiting("a", "ContainerCreating", ""), waiting("b", "CreateContainerConfigError", "")), "PodContainerFailed container b: CreateContainerConfigError"},
		"create":             {pending(waiting("a", "CreateContainerError", "m")), "PodContainerFailed container a: CreateContainerError: m"},
		"run":                {pending(waiting("a", "RunContainerError", "m")), "PodContainerFailed container a: RunContainerError: m"},
		"crash loop":         {lean.Status{Phase: corev1.PodRunning, Containers: []lean.Container{waiting("a", "CrashLoopBackOff", "m")}}, "PodCrashLoop container a: CrashLoopBackOff: m"},
		"of an init":         {lean.Status{Phase: corev1.PodPending, InitContainers: []lean.Container{waiting("i", "CrashLoopBackOff", "m")}, Containers: []lean.Container{waiting("a", "PodInitializing", "")}}, "PodCrashLoop container i: CrashLoopBackOff: m"},
		"of a later version": {pending(waiting("a", "NewError", "m")), "PodCannotRun container a: NewError: m"},
		"preempted":          {lean.Status{Phase: corev1.PodRunning, Conditions: disrupted("PreemptionByScheduler")}, "PodPreempted PreemptionByScheduler: m"},
		"evicted":            {lean.Status{Phase: corev1.PodRunning, Conditions: disrupted("EvictionByEvictionAPI")}, "PodEvicted EvictionByEvictionAPI: m"},
		"evicted by node":    {lean.Status{Phase: corev1.PodFailed, Reason: "Evicted", Conditions: disrupted("TerminationByKubelet")}, "PodEvicted TerminationByKubelet: m"},
		"taint":              {lean.Status{Phase: corev1.PodRunning, Conditions: disrupted("DeletionByTaintManager")}, "PodNodeLost DeletionByTaintManager: m"},
		"collected":          {lean.Status{Phase: corev1.PodFailed, Conditions: disrupted("DeletionByPodGC")}, "PodNodeLost DeletionByPodGC: m"},
		"disrupted too late": {lean.Status{Phase: corev1.PodSucceeded, Conditions: disrupted("EvictionByEvictionAPI")}, ""},
		"disrupted":          {lean.Status{Phase: corev1.PodRunning, Conditions: disrupted("New")}, "PodCannotRun New: m"},
		"failed":             {failed(""), ""},
		"no memory":          {failed("Evicted"), "PodEvicted Evicted: m"},
		"node shuts down":    {failed("Terminated"), "PodEvicted Terminated: m"},
		"no room":            {failed("OutOfnvidia.com/gpu"), "PodNotAdmitted OutOfnvidia.com/gpu: m"},
		"affinity":           {failed("NodeAffinity"), "PodNotAdmitted NodeAffinity: m"},
		"admission":          {failed("UnexpectedAdmissionError"), "PodNotAdmitted UnexpectedAdmissionError: m"},
		"node lost":          {failed("NodeLost"), "PodNodeLost NodeLost: m"},
		"deadline of a pod":  {failed("DeadlineExceeded"), "PodCannotRun DeadlineExceeded: m"},
		"scheduled meanwhile": {lean.Status{Phase: corev1.PodPending, Conditions: []lean.Condition{{Type: corev1.PodScheduled, Status: corev1.ConditionTrue, Reason: "x"},
			{Type: corev1.DisruptionTarget, Status: corev1.ConditionFalse, Reason: "x"}}}, ""}, // as read of JSON
	} {
		got := ""
		if p := problemOf(&lean.Object{Status: c.status}); p != nil {
			got = p.Reason + " " + p.Detail
		}
		if got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

// TestProblemOfAnything: whatever the status of a pod, its problem has a known reason and a short clean text.
func TestProblemOfAnything(t *testing.T) {
	text := rapid.OneOf(rapid.String(), rapid.SampledFrom([]string{"OutOf", "Evicted", "CrashLoopBackOff", "SchedulingGated", strings.Repeat("\x1b\n", 500)}))
	container := rapid.Custom(func(t *rapid.T) lean.Container {
		return waiting(text.Draw(t, "name"), text.Draw(t, "reason"), text.Draw(t, "message"))
	})
	condition := rapid.Custom(func(t *rapid.T) lean.Condition {
		return lean.Condition{Type: rapid.SampledFrom([]corev1.PodConditionType{corev1.PodScheduled, corev1.DisruptionTarget, ""}).Draw(t, "type"),
			Status: rapid.SampledFrom([]corev1.ConditionStatus{"True", "False", ""}).Draw(t, "status"), Reason: text.Draw(t, "reason"), Message: text.Draw(t, "message")}
	})
	rapid.Check(t, func(t *rapid.T) {
		status := lean.Status{Phase: rapid.SampledFrom([]corev1.PodPhase{"", corev1.PodPending, corev1.PodRunning, corev1.PodFailed, corev1.PodSucceeded}).Draw(t, "phase"),
			Reason: text.Draw(t, "reason"), Message: text.Draw(t, "message"), Conditions: rapid.SliceOfN(condition, 0, 3).Draw(t, "conditions"),
			InitContainers: rapid.SliceOfN(container, 0, 2).Draw(t, "init"), Containers: rapid.SliceOfN(container, 0, 2).Draw(t, "containers")}
		p := problemOf(&lean.Object{Status: status})
		if p == nil {
			return
		}
		known := slices.ContainsFunc(training.PodProblemKinds(), func(k training.PodProblemKind) bool { return k.Reason == p.Reason })
		if !known || len(p.Detail) > training.MaxPodDetail || strings.ContainsAny(p.Detail, "\n\x1b") {
			t.Fatalf("%+v", p)
		}
		if diff := cmp.Diff(p, slimPod(&lean.Object{Status: status}).(*training.PodState).Problem); diff != "" {
			t.Fatal(diff)
		}
	})
}
