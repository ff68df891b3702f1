package schema

// Every reason string is API: people write alerts and scripts on them. They stand here and nowhere else.
// Reasons that carry the kind's name are made by Kind.Reason: TFJobCreated.
const (
	ReasonInvalidSpec       = "InvalidSpec"       // Stalled and Failed of a job that never started
	ReasonInvalidSpecUpdate = "InvalidSpecUpdate" // Stalled of a job that has started
	ReasonUnknownField      = "UnknownField"      // event: a field that is not part of the API

	ReasonCreated          = "Created"
	ReasonRunning          = "Running"
	ReasonRestarting       = "Restarting"
	ReasonSuspended        = "Suspended"
	ReasonResumed          = "Resumed"
	ReasonSucceeded        = "Succeeded"
	ReasonFailed           = "Failed"
	ReasonFailedValidation = "FailedValidation" // event: one problem of a rejected spec
	ReasonSpecAccepted     = "SpecAccepted"     // event: a rejected spec was repaired
	ReasonSpecWarning      = "SpecWarning"      // event: something odd that does not keep the job from running

	ReasonCreatedPod          = "SuccessfulCreatePod"
	ReasonCreatePodFailed     = "FailedCreatePod"
	ReasonDeletedPod          = "SuccessfulDeletePod"
	ReasonDeletePodFailed     = "FailedDeletePod"
	ReasonCreatedService      = "SuccessfulCreateService"
	ReasonCreateServiceFailed = "FailedCreateService"
	ReasonDeletedService      = "SuccessfulDeleteService"
	ReasonDeleteServiceFailed = "FailedDeleteService"
	ReasonDeletedJob          = "SuccessfulDeleteJob"
	ReasonDeleteJobFailed     = "FailedDeleteJob"
	ReasonNameConflict        = "NameConflict" // a foreign object has the name of one of ours
	ReasonOtherScheduler      = "SetPodTemplateSchedulerName"
)

// Reasons of the objects beside pods and services; see Resource.ExtraReasons.
const (
	ReasonCreatedPodGroup      = "SuccessfulCreatePodGroup"
	ReasonCreatePodGroupFailed = "FailedCreatePodGroup"
	ReasonUpdatePodGroupFailed = "FailedUpdatePodGroup"
	ReasonDeletedPodGroup      = "SuccessfulDeletePodGroup"
	ReasonDeletePodGroupFailed = "FailedDeletePodGroup"
	ReasonPodGroupNotAdmitted  = "PodGroupNotAdmitted" // pods wait for their scheduler
	ReasonPodGroupUnavailable  = "PodGroupUnavailable" // pods wait for a CRD, or a permission

	ReasonCreatedAutoscaler      = "SuccessfulCreateHorizontalPodAutoscaler"
	ReasonCreateAutoscalerFailed = "FailedCreateHorizontalPodAutoscaler"
	ReasonUpdateAutoscalerFailed = "FailedUpdateHorizontalPodAutoscaler"
	ReasonDeletedAutoscaler      = "SuccessfulDeleteHorizontalPodAutoscaler"
	ReasonDeleteAutoscalerFailed = "FailedDeleteHorizontalPodAutoscaler"
	ReasonAutoscalerUnavailable  = "HorizontalPodAutoscalerUnavailable"
)

// ExtraReasons are the reasons of the events about extra objects of one resource.
type ExtraReasons struct{ Created, CreateFailed, UpdateFailed, Deleted, DeleteFailed, Unavailable string }

// ExtraReasons of a resource of extra objects. All that are not autoscalers are groups of pods.
func (r Resource) ExtraReasons() ExtraReasons {
	if r == Autoscalers() {
		return ExtraReasons{ReasonCreatedAutoscaler, ReasonCreateAutoscalerFailed, ReasonUpdateAutoscalerFailed,
			ReasonDeletedAutoscaler, ReasonDeleteAutoscalerFailed, ReasonAutoscalerUnavailable}
	}
	return ExtraReasons{ReasonCreatedPodGroup, ReasonCreatePodGroupFailed, ReasonUpdatePodGroupFailed,
		ReasonDeletedPodGroup, ReasonDeletePodGroupFailed, ReasonPodGroupUnavailable}
}

// Reason is a reason that carries the kind's name: Reason(ReasonCreated) is "TFJobCreated".
func (k *Kind) Reason(suffix string) string { return k.Name + suffix }
