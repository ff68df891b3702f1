package plan

import (
	"math"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"stoic/schema"
)

func TestFate(t *testing.T) {
	const unknown = math.MaxInt32
	for _, test := range []struct {
		policy     schema.RestartPolicy
		expendable bool
		code       int32
		want       fate
	}{
		{schema.RestartAlways, false, 1, replaced},
		{schema.RestartAlways, true, 137, replaced},
		{schema.RestartOnFailure, false, unknown, replaced},
		{schema.RestartOnFailure, true, 1, replaced},
		{schema.RestartNever, false, 137, fatal},
		{schema.RestartNever, false, unknown, fatal},
		{schema.RestartNever, true, 1, stays},
		{schema.RestartExitCode, false, 0, fatal},
		{schema.RestartExitCode, false, 1, fatal},
		{schema.RestartExitCode, false, 127, fatal},
		{schema.RestartExitCode, false, 128, replaced},
		{schema.RestartExitCode, false, 255, replaced},
		{schema.RestartExitCode, false, -1, fatal},
		{schema.RestartExitCode, false, unknown, replaced},
		{schema.RestartExitCode, true, 127, stays},
		{schema.RestartExitCode, true, 128, replaced},
		{schema.RestartExitCode, true, unknown, replaced},
	} {
		r := &replica{role: &schema.Role{Restart: test.policy, Expendable: test.expendable},
			pod: &schema.Pod{Phase: corev1.PodFailed, Exits: []schema.Exit{{Container: "side", Code: 1}}}}
		if test.code != unknown {
			r.pod.Exits = append(r.pod.Exits, schema.Exit{Container: "main", Code: test.code})
		}
		if got := fateOf(r, "main"); got != test.want {
			t.Errorf("%+v: got %v", test, got)
		}
		r.pod.Deleting = true
		if got := fateOf(r, "main"); got != stays {
			t.Errorf("%+v, deleting: got %v", test, got)
		}
		for _, phase := range []corev1.PodPhase{"", corev1.PodPending, corev1.PodRunning, corev1.PodSucceeded, corev1.PodUnknown} {
			r.pod = &schema.Pod{Phase: phase}
			if got := fateOf(r, "main"); got != stays {
				t.Errorf("%+v, %s: got %v", test, phase, got)
			}
		}
	}
}
