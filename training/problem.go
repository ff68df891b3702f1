package training

import "slices"

// PodProblem is what the pod layer says of a pod that cannot run, or that is taken away by something that is not its job.
type PodProblem struct {
	Reason string // that of the event about the job: one of PodProblemKinds
	Detail string // the words of the scheduler, the kubelet or a controller: clean, at most MaxPodDetail bytes
}

// MaxPodDetail bounds what is kept of those words, for each pod that has a problem.
const MaxPodDetail = 200

// PodProblemKind says what a reason means for the job.
type PodProblemKind struct {
	Reason string
	// Sentence stands behind the names of the pods.
	Sentence string
	// Waits: unless it has failed, the pod may still run. Otherwise it has ended, or is about to.
	Waits bool
	// Intended: somebody wants it so.
	Intended bool
}

// PodProblemKinds lists all, those that the author should read first before the others.
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
	}
}

// PodProblemLabel is what metrics call a reason of a pod problem: itself, or "other" for all that is not known by name.
func PodProblemLabel(reason string) string {
	known := slices.ContainsFunc(PodProblemKinds(), func(k PodProblemKind) bool { return k.Reason == reason })
	if !known || reason == ReasonPodCannotRun {
		return "other"
	}
	return reason
}
