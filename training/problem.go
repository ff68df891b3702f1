package training

import "slices"

// PodProblem says why a pod cannot run, or why something other than its job removes it.
type PodProblem struct {
	Reason string // that of the event about the job: one of PodProblemKinds
	Detail string // the words of the scheduler, the kubelet or a controller: clean, at most MaxPodDetail bytes
}

// MaxPodDetail bounds PodProblem.Detail, in bytes.
const MaxPodDetail = 200

// PodProblemKind describes one reason of a PodProblem.
type PodProblemKind struct {
	Reason string
	// Sentence follows the names of the pods in the event; empty if the planner finds the words for each pod.
	Sentence string
	// Waits: unless it has failed, the pod may still run. Otherwise it has ended, or is about to.
	Waits bool
	// Intended: a user or controller has configured this state, so the event is not a warning.
	Intended bool
}

// PodProblemKinds returns all kinds, the most important ones for the user first.
func PodProblemKinds() []PodProblemKind {
	return []PodProblemKind{
		{Reason: ReasonPodUnschedulable, Sentence: "cannot be scheduled", Waits: true},
		{Reason: ReasonPodSchedulingGated, Sentence: "held back by scheduling gates", Waits: true, Intended: true},
		{Reason: ReasonPodImageFailed, Sentence: "image cannot be pulled", Waits: true},
		{Reason: ReasonPodContainerFailed, Sentence: "container cannot be started", Waits: true},
		{Reason: ReasonPodCrashLoop, Sentence: "container ends again and again", Waits: true},
		{Reason: ReasonPodCannotRun, Sentence: "cannot run", Waits: true},
		{Reason: ReasonPodNotAdmitted, Sentence: "refused by the kubelet of its node"},
		{Reason: ReasonPodPreempted, Sentence: "preempted by pods of a higher priority"},
		{Reason: ReasonPodEvicted, Sentence: "evicted"},
		{Reason: ReasonPodNodeLost, Sentence: "its node is gone, or has a taint that it does not tolerate"},
		{Reason: ReasonPodNotEnding},
		{Reason: ReasonPodNotStarted, Waits: true},
		{Reason: ReasonPodNotReady, Waits: true},
		{Reason: ReasonPodHalfEnded, Waits: true},
	}
}

// PodProblemLabel returns the metric label for the reason of a pod problem: the reason, or "other" if it is not classified.
func PodProblemLabel(reason string) string {
	known := slices.ContainsFunc(PodProblemKinds(), func(k PodProblemKind) bool { return k.Reason == reason })
	if !known || reason == ReasonPodCannotRun {
		return "other"
	}
	return reason
}
