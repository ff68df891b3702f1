package operator

import (
	"slices"
	"strings"

	"stoic/internal/lean"
	"stoic/training"
)

// isDisrupted reports whether a pod has failed, and not because of its program.
//
//	the pod has failed, and                             for example
//	DisruptionTarget is True                            eviction by the API, preemption, loss and shutdown of its node, eviction by the kubelet
//	its status has one of the reasons of disruptions    the same, where no such condition is set
//	its status has one of the reasons of refusals       its node had no room any more: the scheduler finds another one, or waits
//	a container that the operator adds has failed       the wait for the master took too long: no container of the user's has run
//
// All other failures of the pod as a whole are its own: activeDeadlineSeconds, a sysctl that nodes forbid, another operating
// system than that of the node.
func isDisrupted(s *lean.Status) bool {
	if s.Phase != hasFailed {
		return false
	}
	return condition(s, disruptionTarget, isTrue) != nil || isDisruption(s.Reason) || isPassingRefusal(s.Reason) || hasGivenUp(s)
}

// isDisruption reports whether a reason in the status of a failed pod says that something ended it.
func isDisruption(reason string) bool {
	switch reason {
	case "Evicted", "Terminated", "NodeShutdown", "Shutdown", "NodeLost", "Preempting":
		return true
	}
	return false
}

// isPassingRefusal reports whether a kubelet refused a pod with that reason because of what its node had room for at that
// moment. It may also refuse pods that ran before, when it restarts.
func isPassingRefusal(reason string) bool {
	switch reason {
	case "UnexpectedAdmissionError", "TopologyAffinityError", "NodeAffinity", "NodeName", "NodePorts":
		return true
	}
	return strings.HasPrefix(reason, "OutOf")
}

// hasGivenUp reports whether a container that the operator adds has failed in a pod of which no other container has run.
func hasGivenUp(s *lean.Status) bool {
	hasFailedItself := func(c lean.Container) bool {
		return training.IsAddedContainer(c.Name) && c.State.Terminated != nil && c.State.Terminated.ExitCode != 0
	}
	hasRun := func(c lean.Container) bool { return c.State.Terminated != nil || c.LastState.Terminated != nil }
	return slices.ContainsFunc(s.InitContainers, hasFailedItself) && !slices.ContainsFunc(s.Containers, hasRun)
}
