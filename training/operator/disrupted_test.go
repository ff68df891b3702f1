package operator

import (
	"testing"

	corev1 "k8s.io/api/core/v1"

	"stoic/internal/lean"
	"stoic/training"
)

// TestDisrupted: which failed pods are replaced under every policy, and do not count.
func TestDisrupted(t *testing.T) {
	target := func(status corev1.ConditionStatus, reason string) lean.Status {
		return lean.Status{Phase: corev1.PodFailed, Conditions: []lean.Condition{{Type: corev1.DisruptionTarget, Status: status, Reason: reason}},
			Containers: []lean.Container{ended("main", 1, "Error", 1, 0)}}
	}
	initially := func(name string, code int32, main ...lean.Container) lean.Status {
		return lean.Status{Phase: corev1.PodFailed, InitContainers: []lean.Container{ended(name, code, "Error", 1, 0)}, Containers: main}
	}
	waiting := lean.Container{Name: "main", State: lean.State{Waiting: &lean.Waiting{Reason: "PodInitializing"}}}
	for name, c := range map[string]struct {
		status lean.Status
		want   bool
	}{
		"eviction by the API, as in a drain": {target(isTrue, "EvictionByEvictionAPI"), true},
		"preemption":                         {target(isTrue, "PreemptionByScheduler"), true},
		"loss of the node, by its taint":     {target(isTrue, "DeletionByTaintManager"), true},
		"loss of the node, by pod GC":        {target(isTrue, "DeletionByPodGC"), true},
		"shutdown of the node":               {target(isTrue, "TerminationByKubelet"), true},
		"a disruption of another version":    {target(isTrue, "SomethingNew"), true},
		"a disruption that did not happen":   {target(isFalse, "EvictionByEvictionAPI"), false},
		"a failure of its own":               {lean.Status{Phase: corev1.PodFailed, Containers: []lean.Container{ended("main", 137, "OOMKilled", 1, 0)}}, false},
		"an init container of the user":      {initially("download", 1, waiting), false},
		"the wait for the master":            {initially(training.WaitName, 1, waiting), true},
		"the delivery of kubectl":            {initially(training.KubectlName, 1, waiting), true},
		"the wait for the master, in time":   {initially(training.WaitName, 0, ended("main", 1, "Error", 3, 0)), false},
		"a failure after the wait":           {initially(training.WaitName, 1, ended("main", 1, "Error", 3, 0)), false},
	} {
		if got := slimPod(&lean.Object{Status: c.status}).(*training.PodState).Disrupted; got != c.want {
			t.Errorf("%s: disrupted: %v, want %v", name, got, c.want)
		}
		for _, phase := range []corev1.PodPhase{corev1.PodPending, corev1.PodRunning, corev1.PodSucceeded} {
			if c.status.Phase = phase; isDisrupted(&c.status) {
				t.Errorf("%s, %s: it has not failed", name, phase)
			}
		}
	}
	for reason, want := range map[string]bool{
		"Evicted": true, "Terminated": true, "NodeShutdown": true, "Shutdown": true, "NodeLost": true, "Preempting": true,
		"UnexpectedAdmissionError": true, "TopologyAffinityError": true, "NodeAffinity": true, "NodeName": true, "NodePorts": true, "OutOfcpu": true, "OutOfnvidia.com/gpu": true,
		"": false, "DeadlineExceeded": false, "SysctlForbidden": false, "AppArmor": false, "SMTAlignmentError": false, "PodOSNotSupported": false,
		"PodOSSelectorNodeLabelDoesNotMatch": false, "OfAnotherVersion": false,
	} {
		if got := isDisrupted(&lean.Status{Phase: corev1.PodFailed, Reason: reason}); got != want {
			t.Errorf("%q: disrupted: %v, want %v", reason, got, want)
		}
	}
}
