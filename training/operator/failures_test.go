package operator

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"stoic/internal/lean"
	"stoic/training"
)

// at returns a time in seconds after 1970.
func at(seconds int64) metav1.Time { return metav1.NewTime(time.Unix(seconds, 0)) }

// ended returns a container that ended and was restarted so many times before.
func ended(name string, code int32, reason string, seconds int64, restarts int32) lean.Container {
	return lean.Container{Name: name, RestartCount: restarts,
		State: lean.State{Terminated: &lean.Terminated{ExitCode: code, Reason: reason, FinishedAt: at(seconds)}}}
}

// again returns a container that runs or waits again, after it ended.
func again(name string, code int32, reason string, seconds int64, restarts int32) lean.Container {
	c := ended(name, code, reason, seconds, restarts)
	c.LastState, c.State = c.State, lean.State{}
	return c
}

// TestFailureOfAPod: how a pod failed is kept, or how containers ended that were restarted; of all other pods nothing is.
func TestFailureOfAPod(t *testing.T) {
	type ends = []training.ContainerEnd
	bad := training.ContainerEnd{Container: "main", Code: 137, Reason: "OOMKilled", At: 7}
	for name, c := range map[string]struct {
		status lean.Status
		want   *training.PodFailure
	}{
		"waits": {lean.Status{Phase: corev1.PodPending, Containers: []lean.Container{{Name: "main", State: lean.State{Waiting: &lean.Waiting{Reason: "ContainerCreating"}}}}}, nil},
		"runs, after its init container": {lean.Status{Phase: corev1.PodRunning, InitContainers: []lean.Container{ended("init", 0, "Completed", 1, 0)},
			Containers: []lean.Container{{Name: "main"}}}, nil},
		"runs, a sidecar has ended": {lean.Status{Phase: corev1.PodRunning, Containers: []lean.Container{ended("logs", 1, "Error", 1, 0), {Name: "main"}}}, nil},
		"has succeeded":             {lean.Status{Phase: corev1.PodSucceeded, Containers: []lean.Container{ended("main", 0, "Completed", 1, 2)}}, nil},
		"has failed": {lean.Status{Phase: corev1.PodFailed, InitContainers: []lean.Container{ended("init", 0, "Completed", 1, 0)},
			Containers: []lean.Container{ended("logs", 0, "Completed", 8, 0), ended("main", 137, "OOMKilled", 7, 0)}}, &training.PodFailure{Node: "n", Ends: ends{bad}}},
		"has failed, by an init container": {lean.Status{Phase: corev1.PodFailed, InitContainers: []lean.Container{ended("init", 2, "Error", 1, 0)},
			Containers: []lean.Container{{Name: "main", State: lean.State{Waiting: &lean.Waiting{Reason: "PodInitializing"}}}}},
			&training.PodFailure{Node: "n", Ends: ends{{Container: "init", Init: true, Code: 2, Reason: "Error", At: 1}}}},
		"has failed while a container waited for its restart": {lean.Status{Phase: corev1.PodFailed, Reason: "Evicted", Message: "a\nb", Containers: []lean.Container{again("main", 1, "Error", 3, 4)}},
			&training.PodFailure{Node: "n", Cause: training.Cause{Reason: "Evicted", Message: "a b"}, Ends: ends{{Container: "main", Code: 1, Reason: "Error", At: 3}}}},
		"has failed, and nothing is known": {lean.Status{Phase: corev1.PodFailed}, &training.PodFailure{Node: "n"}},
		"was disrupted": {lean.Status{Phase: corev1.PodFailed, Conditions: []lean.Condition{{Type: disruptionTarget, Status: isTrue, Reason: "TerminationByKubelet", LastTransitionTime: at(5)}},
			Containers: []lean.Container{ended("main", 137, "OOMKilled", 7, 0)}}, &training.PodFailure{Node: "n", Disruption: "TerminationByKubelet", At: 5, Ends: ends{bad}}},
		"a container was restarted":              {lean.Status{Phase: corev1.PodRunning, Containers: []lean.Container{again("main", 137, "OOMKilled", 7, 1)}}, &training.PodFailure{Node: "n", Ends: ends{bad}}},
		"a container is about to be restarted":   {lean.Status{Phase: corev1.PodRunning, Containers: []lean.Container{ended("main", 137, "OOMKilled", 7, 1)}}, &training.PodFailure{Node: "n", Ends: ends{bad}}},
		"a container was restarted, ended well":  {lean.Status{Phase: corev1.PodRunning, Containers: []lean.Container{again("main", 0, "Completed", 7, 1)}}, &training.PodFailure{Node: "n", Ends: ends{{Container: "main", Reason: "Completed", At: 7}}}},
		"an init container restarted, then well": {lean.Status{Phase: corev1.PodRunning, InitContainers: []lean.Container{{Name: "main", RestartCount: 1, State: ended("", 0, "Completed", 9, 0).State, LastState: ended("", 137, "OOMKilled", 7, 0).State}}}, &training.PodFailure{Node: "n", Ends: ends{{Container: "main", Init: true, Code: 137, Reason: "OOMKilled", At: 7}}}},
		"the wait for the master was restarted":  {lean.Status{Phase: corev1.PodPending, InitContainers: []lean.Container{again(training.WaitName, 1, "Error", 3, 9)}}, nil},
		"ended at no time":                       {lean.Status{Phase: corev1.PodFailed, Containers: []lean.Container{{Name: "main", State: lean.State{Terminated: &lean.Terminated{ExitCode: 1}}}}}, &training.PodFailure{Node: "n", Ends: ends{{Container: "main", Code: 1}}}},
	} {
		got := slimPod(&lean.Object{Spec: lean.Spec{NodeName: "n"}, Status: c.status}).(*training.PodState).Failure
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("a pod that %s (-want +got):\n%s", name, diff)
		}
	}
}

// TestFailureIsBounded: whoever writes the status of a pod cannot fill the cache.
func TestFailureIsBounded(t *testing.T) {
	long := strings.Repeat("x", 1<<20)
	status := lean.Status{Phase: corev1.PodFailed, Reason: long, Message: long, Conditions: []lean.Condition{{Type: disruptionTarget, Status: isTrue, Reason: long}}}
	for range 1000 {
		status.Containers = append(status.Containers, ended(long, 1, long, 1, 0))
	}
	f := slimPod(&lean.Object{Spec: lean.Spec{NodeName: long}, Status: status}).(*training.PodState).Failure
	size := len(f.Node) + len(f.Disruption) + len(f.Cause.Reason) + len(f.Cause.Message)
	for _, end := range f.Ends {
		size += len(end.Container) + len(end.Reason)
	}
	if len(f.Ends) > maxEnds || size > 8<<10 {
		t.Errorf("%d ends, %d bytes", len(f.Ends), size)
	}
}

// TestHealthyPodKeepsNoFailure: the failure of a pod takes a pointer of those that have none.
func TestHealthyPodKeepsNoFailure(t *testing.T) {
	p := &lean.Object{ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{training.AnnotationRestartCount: "0"}}, Spec: lean.Spec{NodeName: "n"}, Status: lean.Status{Phase: corev1.PodRunning, Containers: []lean.Container{{Name: "main"}}}}
	if n := testing.AllocsPerRun(100, func() { slimPod(p) }); n > 1 {
		t.Errorf("%v allocations for a healthy pod, want the state alone", n)
	}
}
