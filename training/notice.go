package training

import "slices"

// Notice documents one reason: where it appears and when.
type Notice struct {
	Reason string
	OfKind bool   // the kind's name is its prefix: TFJobCreated
	Where  string // NormalEvent, WarningEvent, or the conditions that carry it
	When   string // completes the sentence "given when"
}

const (
	NormalEvent  = "Normal event"
	WarningEvent = "Warning event"
)

// Notices returns every reason, in the order in which they may occur for a job. A reason that appears in a condition and
// in an event is listed twice.
func Notices() []Notice { return slices.Concat(jobNotices(), podNotices(), dependentNotices()) }

// jobNotices returns the reasons about the job as a whole.
func jobNotices() []Notice {
	const created, running, restarting = "condition Created", "condition Running", "condition Restarting"
	const suspended, succeeded, failed, stalled = "condition Suspended", "condition Succeeded", "condition Failed", "condition Stalled"
	return []Notice{
		{ReasonFailedValidation, true, WarningEvent, "a spec is rejected; one event for each of the first five problems, and one that counts the others"},
		{ReasonInvalidSpec, false, stalled, "the spec of a job that was never accepted is rejected"},
		{ReasonInvalidSpec, false, failed, "the same; it is removed when the spec is repaired"},
		{ReasonInvalidSpecUpdate, false, stalled, "an edit of an accepted job is rejected; its pods stay"},
		{ReasonSpecAccepted, true, NormalEvent, "a rejected spec was repaired"},
		{ReasonUnknownField, false, WarningEvent, "a field is unknown or in the wrong place; the job runs"},
		{ReasonSpecWarning, true, WarningEvent, "something else is odd that does not keep the job from running"},

		{ReasonCreated, true, created, "the job is accepted"},
		{ReasonSuspended, true, suspended, "`runPolicy.suspend` is true and the pods are deleted"},
		{ReasonSuspended, true, running, "a running job is suspended"},
		{ReasonSuspended, true, NormalEvent, "the job is suspended"},
		{ReasonResumed, true, suspended, "`runPolicy.suspend` is no longer true"},
		{ReasonResumed, true, NormalEvent, "the job is resumed"},
		{ReasonRunning, true, running, "a pod that counts for the job runs"},
		{ReasonRestarting, true, restarting, "the operator restarts a replica; the message names the pod that failed first"},
		{ReasonRestarting, true, WarningEvent, "the same"},
		{ReasonSucceeded, true, succeeded, "the job has succeeded; this is final"},
		{ReasonSucceeded, true, NormalEvent, "the same"},
		{ReasonFailed, true, failed, "the job has failed; this is final. The message names the pod that failed first, its container, exit code, reason and node"},
		{ReasonFailed, true, WarningEvent, "the same; not for a rejected spec"},
	}
}

// podNotices returns the reasons about pods.
func podNotices() []Notice {
	return []Notice{
		{ReasonCreatedPod, false, NormalEvent, "pods were created; one event names all of a reconcile"},
		{ReasonCreatePodFailed, false, WarningEvent, "the API server refuses a pod: a quota, a LimitRange, the Pod Security level, a missing PriorityClass or ServiceAccount, a webhook; once for each cause and generation"},
		{ReasonPodUnschedulable, false, WarningEvent, "the scheduler finds no node for a pod, by its condition `PodScheduled`"},
		{ReasonPodSchedulingGated, false, NormalEvent, "a pod has scheduling gates that have not been removed yet"},
		{ReasonPodImageFailed, false, WarningEvent, "an image cannot be pulled: `ErrImagePull`, `ImagePullBackOff`, `InvalidImageName` and the like"},
		{ReasonPodContainerFailed, false, WarningEvent, "a container cannot be created or started: `CreateContainerConfigError`, `CreateContainerError`, `RunContainerError` and the like"},
		{ReasonPodCrashLoop, false, WarningEvent, "a container ends again and again: `CrashLoopBackOff`"},
		{ReasonPodNotAdmitted, false, WarningEvent, "the kubelet refuses a pod that was scheduled: `UnexpectedAdmissionError`, `OutOfcpu`, `NodeAffinity` and the like"},
		{ReasonPodPreempted, false, WarningEvent, "pods of a higher priority take the place of a pod, by its condition `DisruptionTarget`"},
		{ReasonPodEvicted, false, WarningEvent, "a pod is evicted, by the eviction API, as in a drain, or by its node"},
		{ReasonPodNodeLost, false, WarningEvent, "a pod is lost with its node"},
		{ReasonPodNotEnding, false, WarningEvent, "a deleted pod still exists half a minute after its grace period; the message says why"},
		{ReasonPodNotStarted, false, WarningEvent, "a pod has not started a minute after its creation for none of the reasons above; the message names the step"},
		{ReasonPodNotReady, false, WarningEvent, "a worker is not ready a minute after its creation, and the launcher waits for it"},
		{ReasonPodHalfEnded, false, WarningEvent, "the training container of a pod ended a minute ago, and another container of the pod runs on"},
		{ReasonPodCannotRun, false, WarningEvent, "a pod waits, or has failed, for another reason, which the message has"},
		{ReasonDeletedPod, false, NormalEvent, "pods were deleted"},
		{ReasonDeletePodFailed, false, WarningEvent, "the API server refuses the deletion of a pod, or the record of it on the job that must stand first"},
	}
}

// dependentNotices returns the reasons about the other objects that a job owns, and about the deletion of the job.
func dependentNotices() []Notice {
	return []Notice{
		{ReasonCreatedService, false, NormalEvent, "services were created"},
		{ReasonCreateServiceFailed, false, WarningEvent, "the API server refuses a service"},
		{ReasonDeletedService, false, NormalEvent, "services were deleted"},
		{ReasonDeleteServiceFailed, false, WarningEvent, "the API server refuses the deletion of a service"},
		{ReasonCreatedPodGroup, false, NormalEvent, "the job's PodGroup was created, for a gang scheduler"},
		{ReasonCreatePodGroupFailed, false, WarningEvent, "the API server refuses it; no pods are created"},
		{ReasonUpdatePodGroupFailed, false, WarningEvent, "the API server refuses to change it"},
		{ReasonDeletedPodGroup, false, NormalEvent, "it was deleted: the job is over or suspended"},
		{ReasonDeletePodGroupFailed, false, WarningEvent, "the API server refuses its deletion"},
		{ReasonPodGroupNotAdmitted, false, NormalEvent, "pods have been waiting for some seconds for Volcano to admit the PodGroup"},
		{ReasonPodGroupUnavailable, false, WarningEvent, "pods wait because PodGroups cannot be read: their CRD is missing, or a permission"},
		{ReasonPodRestartPolicy, false, WarningEvent, "the restart policy of the replica type replaces that of a pod template; once for a generation, together with `KINDSpecWarning`"},
		{ReasonOtherScheduler, false, WarningEvent, "a pod template names another scheduler than the one that schedules gangs; it is not overwritten"},
		{ReasonCreatedAutoscaler, false, NormalEvent, "the autoscaler of an elastic job was created"},
		{ReasonCreateAutoscalerFailed, false, WarningEvent, "the API server refuses it; the job runs without"},
		{ReasonUpdateAutoscalerFailed, false, WarningEvent, "the API server refuses to change it"},
		{ReasonDeletedAutoscaler, false, NormalEvent, "it was deleted: the job is over or suspended, or has no metrics any more"},
		{ReasonDeleteAutoscalerFailed, false, WarningEvent, "the API server refuses its deletion"},
		{ReasonAutoscalerUnavailable, false, WarningEvent, "autoscalers cannot be read: a permission is missing; the job runs without"},
		{ReasonCreateDependentFailed, false, WarningEvent, "the API server refuses a ConfigMap, Secret, Service, ServiceAccount, Role, RoleBinding or batch/v1 Job; pods that need it are not created"},
		{ReasonUpdateDependentFailed, false, WarningEvent, "the API server refuses to change one of these"},
		{ReasonDeleteDependentFailed, false, WarningEvent, "the API server refuses the deletion of one of these"},
		{ReasonDependentUnavailable, false, WarningEvent, "pods wait because objects of one of these resources cannot be read: a permission is missing"},
		{ReasonDependentNotEnding, false, WarningEvent, "a service or another object of the job was deleted and still exists after half a minute; the job needs its name"},
		{ReasonJobWithoutPod, false, WarningEvent, "the batch/v1 Job of a launcher has had no pod for a minute"},
		{ReasonNameConflict, false, WarningEvent, "a pod, service or other object of another owner has the name of one of the job's; it is not touched"},
		{ReasonDeletedJob, false, NormalEvent, "the job was deleted because `ttlSecondsAfterFinished` had passed"},
		{ReasonDeleteJobFailed, false, WarningEvent, "the API server refuses that deletion"},
	}
}
