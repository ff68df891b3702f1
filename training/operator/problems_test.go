package operator

import (
	"testing"

	corev1 "k8s.io/api/core/v1"

	"stoic/internal/lean"
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
