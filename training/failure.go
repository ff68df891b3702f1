package training

import (
	"fmt"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"stoic/schema"
)

// PodFailure is what the cache keeps of how a pod failed, or of how containers ended that its kubelet has restarted. Most pods
// have none. All texts are clean.
type PodFailure struct {
	// Cause is the reason and the message of the pod's status; empty unless it failed as a whole.
	Cause Cause
	// Disruption is the reason of its condition DisruptionTarget; empty if the condition is not True.
	Disruption string
	// Ends are how its containers ended, in the order of the pod's status: those that ended badly, else all.
	Ends []ContainerEnd
	// Node is the node of the pod; empty if it had none.
	Node string
	// At is when the pod was disrupted, or refused by its node, in seconds since 1970; 0 if it was not, or if that is unknown.
	At int64
}

// Cause is why a pod failed as a whole.
type Cause struct{ Reason, Message string }

// ContainerEnd is how a container ended.
type ContainerEnd struct {
	Container string
	Init      bool
	Code      int32
	Signal    int32
	Reason    string // "Error", "OOMKilled"
	At        int64  // in seconds since 1970; 0 if it is unknown
}

// FailedPod says which pod of a job failed, and how. It outlives the pod: in the message of a condition and in the ledger.
type FailedPod struct {
	Pod string `json:"pod"`
	// Container is the container that failed; empty if the pod failed as a whole, or if that is unknown.
	Container string `json:"container,omitempty"`
	Init      bool   `json:"init,omitempty"`
	ExitCode  int32  `json:"exitCode,omitempty"`
	Signal    int32  `json:"signal,omitempty"`
	// Reason is the reason of the container, or of the pod if it failed as a whole.
	Reason string `json:"reason,omitempty"`
	// Disruption is the reason of the pod's condition DisruptionTarget.
	Disruption string `json:"disruption,omitempty"`
	Node       string `json:"node,omitempty"`
	// At is when the pod ended; nil if it is unknown.
	At *metav1.Time `json:"at,omitempty"`
}

// Bounds of the texts of a FailedPod, in bytes: of names, and of reasons.
const (
	MaxFailedName   = 253
	MaxFailedReason = 64
)

// FailureOf returns how the pod failed. trainer is the name of the container that trains, which is named if it failed;
// otherwise the first container that failed is.
func (p *Pod) FailureOf(trainer string) *FailedPod {
	failed := &FailedPod{Pod: p.Name}
	f := p.Failure
	if f == nil {
		return failed
	}
	failed.Node = f.Node
	failed.Disruption = f.Disruption
	end := f.end(trainer)
	switch {
	case f.Cause.Reason != "":
		failed.Reason = schema.Clean(f.Cause.Reason, MaxFailedReason)
	case end != nil:
		failed.Container = end.Container
		failed.Init = end.Init
		failed.ExitCode = end.Code
		failed.Signal = end.Signal
		failed.Reason = end.Reason
	}
	at := f.At
	if at == 0 && end != nil {
		at = end.At
	}
	if at != 0 {
		failed.At = &metav1.Time{Time: metav1.Unix(at, 0).UTC()}
	}
	return failed
}

// end returns how the container that trains ended, if badly, else the first container that ended badly, else any; nil if none
// is known.
func (f *PodFailure) end(trainer string) (first *ContainerEnd) {
	for i := range f.Ends {
		end := &f.Ends[i]
		if end.Container == trainer && !end.Init && end.Code != 0 {
			return end
		}
		if first == nil || isBefore(end.At, first.At) {
			first = end
		}
	}
	return first
}

// isBefore reports whether a time in seconds precedes another one. A time that is unknown precedes none.
func isBefore(a, b int64) bool { return a != 0 && (b == 0 || a < b) }

// IsBefore reports whether the pod is known to have ended before another one.
func (f *FailedPod) IsBefore(other *FailedPod) bool {
	if f.At == nil {
		return false
	}
	return other.At == nil || f.At.Unix() < other.At.Unix()
}

// String returns the failure in words: "pod bert-worker-1, container pytorch, exit code 137 (OOMKilled), node gpu-7".
func (f *FailedPod) String() string {
	words := []string{"pod " + f.Pod}
	switch {
	case f.Container != "":
		container := "container " + f.Container
		if f.Init {
			container = "init " + container
		}
		code := fmt.Sprintf("exit code %d", f.ExitCode)
		if reason := f.exitReason(); reason != "" {
			code += " (" + reason + ")"
		}
		words = append(words, container, code)
	case f.Reason != "":
		words = append(words, f.Reason)
	}
	if f.Disruption != "" {
		words = append(words, "disrupted ("+f.Disruption+")")
	}
	if f.Node != "" {
		words = append(words, "node "+f.Node)
	}
	return strings.Join(words, ", ")
}

// exitReason returns the reason of the container if it says more than that it failed, else its signal.
func (f *FailedPod) exitReason() string {
	if f.Reason != "" && f.Reason != "Error" {
		return f.Reason
	}
	signal := f.Signal
	if signal == 0 && f.ExitCode > exitBySignal {
		signal = f.ExitCode - exitBySignal
	}
	if name := signalName(signal); name != "" {
		return name
	}
	if f.Signal != 0 {
		return fmt.Sprintf("signal %d", f.Signal)
	}
	return f.Reason
}

// exitBySignal is added to the number of the signal that ended a process: 143 is SIGTERM.
const exitBySignal = 128

// signalName returns the name of a signal that ends processes on Linux, or "".
func signalName(signal int32) string {
	return map[int32]string{1: "SIGHUP", 2: "SIGINT", 3: "SIGQUIT", 4: "SIGILL", 6: "SIGABRT", 7: "SIGBUS", 8: "SIGFPE", 9: "SIGKILL", 10: "SIGUSR1",
		11: "SIGSEGV", 12: "SIGUSR2", 13: "SIGPIPE", 14: "SIGALRM", 15: "SIGTERM", 24: "SIGXCPU", 25: "SIGXFSZ", 31: "SIGSYS"}[signal]
}
