package operator

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"stoic/internal/lean"
	"stoic/schema"
	"stoic/training"
)

const (
	// maxCause bounds the cached reason and message of a failed pod, in bytes each.
	maxCause = 256
	// maxEnds bounds the containers of a pod whose ends are kept.
	maxEnds = 16
)

// failureOf returns how a pod failed, or how containers of it ended that its kubelet has restarted; nil for all other pods.
func failureOf(p *lean.Object) *training.PodFailure {
	s := &p.Status
	failed := s.Phase == hasFailed
	if s.Phase == hasSucceeded {
		return nil
	}
	var ends []training.ContainerEnd
	for i := range s.InitContainers {
		ends = appendEnd(ends, &s.InitContainers[i], failed, true)
	}
	for i := range s.Containers {
		ends = appendEnd(ends, &s.Containers[i], failed, false)
	}
	if !failed && len(ends) == 0 {
		return nil
	}
	f := &training.PodFailure{Ends: onlyBad(ends), Node: schema.Clean(p.Spec.NodeName, training.MaxFailedName)}
	if !failed {
		return f
	}
	f.Cause = training.Cause{Reason: schema.Clean(s.Reason, maxCause), Message: schema.Clean(s.Message, maxCause)}
	if c := condition(s, disruptionTarget, isTrue); c != nil {
		f.Disruption = schema.Clean(c.Reason, training.MaxFailedReason)
		f.At = secondsOf(c.LastTransitionTime)
	}
	return f
}

// appendEnd appends how a container ended, if it is over or was restarted. In a pod that has not failed, a container that
// was not restarted has not failed either, and those that the operator adds are no failure of the job.
func appendEnd(ends []training.ContainerEnd, c *lean.Container, failed, isInit bool) []training.ContainerEnd {
	if !failed && (c.RestartCount <= 0 || training.IsAddedContainer(c.Name)) || len(ends) == maxEnds {
		return ends
	}
	t := c.State.Terminated
	if t == nil || !failed && t.ExitCode == 0 {
		t = c.LastState.Terminated
	}
	if t == nil {
		return ends
	}
	return append(ends, training.ContainerEnd{Container: schema.Clean(c.Name, training.MaxFailedName), Init: isInit, Code: t.ExitCode, Signal: t.Signal,
		Reason: schema.Clean(t.Reason, training.MaxFailedReason), At: secondsOf(t.FinishedAt)})
}

// onlyBad returns the ends of the containers that failed, or all ends if none did: a container that ends well is restarted
// under Always.
func onlyBad(ends []training.ContainerEnd) []training.ContainerEnd {
	bad := slices.DeleteFunc(slices.Clone(ends), func(e training.ContainerEnd) bool { return e.Code == 0 })
	if len(bad) == 0 {
		return ends
	}
	return bad
}

// secondsOf returns a time in seconds since 1970, or 0 if it is not set, or not one of this era.
func secondsOf(t metav1.Time) int64 {
	if year := t.Year(); year < 1970 || year > 9999 {
		return 0
	}
	return t.Unix()
}

// sameFailure reports whether two failures are equal.
func sameFailure(a, b *training.PodFailure) bool {
	if a == nil || b == nil {
		return a == b
	}
	return a.Cause == b.Cause && a.Disruption == b.Disruption && a.Node == b.Node && a.At == b.At && slices.Equal(a.Ends, b.Ends)
}
