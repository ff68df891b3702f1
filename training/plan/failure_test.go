package plan

import (
	"math"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"stoic/training"
)

func TestFailureAction(t *testing.T) {
	const unknown = math.MaxInt32
	for _, test := range []struct {
		policy     training.RestartPolicy
		expendable bool
		code       int32
		want       failureAction
	}{
		{training.RestartAlways, false, 1, replaced},
		{training.RestartAlways, true, 137, replaced},
		{training.RestartOnFailure, false, unknown, replaced},
		{training.RestartOnFailure, true, 1, replaced},
		{training.RestartNever, false, 137, fatal},
		{training.RestartNever, false, unknown, fatal},
		{training.RestartNever, true, 1, stays},
		{training.RestartExitCode, false, 0, fatal},
		{training.RestartExitCode, false, 1, fatal},
		{training.RestartExitCode, false, 127, fatal},
		{training.RestartExitCode, false, 128, replaced},
		{training.RestartExitCode, false, 255, replaced},
		{training.RestartExitCode, false, -1, fatal},
		{training.RestartExitCode, false, unknown, replaced},
		{training.RestartExitCode, true, 127, stays},
		{training.RestartExitCode, true, 128, replaced},
		{training.RestartExitCode, true, unknown, replaced},
	} {
		r := &replica{replicaType: &training.ReplicaType{Container: "main", Restart: test.policy, Expendable: test.expendable},
			pod: &training.Pod{Phase: corev1.PodFailed, Exits: []training.Exit{{Container: "side", Code: 1}}}}
		if test.code != unknown {
			r.pod.Exits = append(r.pod.Exits, training.Exit{Container: "main", Code: test.code})
		}
		if got := failureActionOf(r); got != test.want {
			t.Errorf("%+v: got %v", test, got)
		}
		r.pod.Disrupted = true
		if got := failureActionOf(r); got != replaced {
			t.Errorf("%+v, disrupted: got %v", test, got)
		}
		r.pod.Deleting = true
		if got := failureActionOf(r); got != stays {
			t.Errorf("%+v, deleting: got %v", test, got)
		}
		for _, phase := range []corev1.PodPhase{"", corev1.PodPending, corev1.PodRunning, corev1.PodSucceeded, corev1.PodUnknown} {
			r.pod = &training.Pod{Phase: phase}
			if got := failureActionOf(r); got != stays {
				t.Errorf("%+v, %s: got %v", test, phase, got)
			}
		}
	}
}
