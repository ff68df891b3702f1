package training

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TestFailureOf: the container that trains is named if it failed, else the first one that did; a pod that failed as a whole
// names its own reason.
func TestFailureOf(t *testing.T) {
	trained := ContainerEnd{Container: "main", Code: 1, Reason: "Error", At: 9}
	for name, c := range map[string]struct {
		failure *PodFailure
		want    string
		at      int64
	}{
		"nothing is known":        {nil, "pod p", 0},
		"nothing but the node":    {&PodFailure{Node: "n"}, "pod p, node n", 0},
		"the trainer":             {&PodFailure{Node: "gpu-7", Ends: []ContainerEnd{{Container: "main", Code: 137, Reason: "OOMKilled", At: 5}}}, "pod p, container main, exit code 137 (OOMKilled), node gpu-7", 5},
		"the trainer, not first":  {&PodFailure{Ends: []ContainerEnd{{Container: "logs", Code: 2, At: 3}, trained}}, "pod p, container main, exit code 1 (Error)", 9},
		"a sidecar, as the first": {&PodFailure{Ends: []ContainerEnd{{Container: "b", Code: 2, At: 8}, {Container: "a", Code: 3, At: 7}, {Container: "c", Code: 4}}}, "pod p, container a, exit code 3", 7},
		"the trainer ended well":  {&PodFailure{Ends: []ContainerEnd{{Container: "logs", Code: 2, At: 8}}}, "pod p, container logs, exit code 2", 8},
		"an init container":       {&PodFailure{Ends: []ContainerEnd{{Container: "main", Init: true, Code: 4}}}, "pod p, init container main, exit code 4", 0},
		"restarted, ended well":   {&PodFailure{Ends: []ContainerEnd{{Container: "main", Reason: "Completed"}}}, "pod p, container main, exit code 0 (Completed)", 0},
		"evicted":                 {&PodFailure{Cause: Cause{Reason: "Evicted", Message: "no memory"}, Node: "n", Ends: []ContainerEnd{trained}}, "pod p, Evicted, node n", 9},
		"evicted by the kubelet":  {&PodFailure{Cause: Cause{Reason: "Evicted"}, Disruption: "TerminationByKubelet", At: 4, Ends: []ContainerEnd{trained}}, "pod p, Evicted, disrupted (TerminationByKubelet)", 4},
		"its node shut down":      {&PodFailure{Disruption: "TerminationByKubelet", Node: "n", At: 4, Ends: []ContainerEnd{trained}}, "pod p, container main, exit code 1 (Error), disrupted (TerminationByKubelet), node n", 4},
	} {
		p := &Pod{Name: "p", Failure: c.failure}
		got := p.FailureOf("main")
		at := int64(0)
		if got.At != nil {
			at = got.At.Unix()
		}
		if got.String() != c.want || at != c.at {
			t.Errorf("%s: %q at %d, want %q at %d", name, got, at, c.want, c.at)
		}
	}
}

func TestExitReason(t *testing.T) {
	for _, c := range []struct {
		code, signal int32
		reason, want string
	}{
		{1, 0, "", ""}, {1, 0, "Error", "Error"}, {137, 0, "OOMKilled", "OOMKilled"}, {137, 0, "Error", "SIGKILL"}, {137, 0, "", "SIGKILL"},
		{143, 0, "Error", "SIGTERM"}, {128, 0, "Error", "Error"}, {255, 0, "Error", "Error"}, {255, 0, "", ""}, {0, 9, "Error", "SIGKILL"},
		{0, 63, "", "signal 63"}, {137, 15, "", "SIGTERM"}, {128, 0, "StartError", "StartError"}, {-1, -1, "", "signal -1"},
	} {
		f := FailedPod{ExitCode: c.code, Signal: c.signal, Reason: c.reason}
		if got := f.exitReason(); got != c.want {
			t.Errorf("code %d, signal %d, reason %q: %q, want %q", c.code, c.signal, c.reason, got, c.want)
		}
	}
}

func TestIsBefore(t *testing.T) {
	at := func(seconds int64) *FailedPod {
		if seconds == 0 {
			return &FailedPod{}
		}
		return &FailedPod{At: &metav1.Time{Time: metav1.Unix(seconds, 0).Time}}
	}
	for _, c := range []struct {
		a, b int64
		want bool
	}{{1, 2, true}, {2, 1, false}, {1, 1, false}, {1, 0, true}, {0, 1, false}, {0, 0, false}} {
		if got := at(c.a).IsBefore(at(c.b)); got != c.want {
			t.Errorf("%d before %d: %v", c.a, c.b, got)
		}
	}
}
