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
)

// Reason is a reason that carries the kind's name: Reason(ReasonCreated) is "TFJobCreated".
func (k *Kind) Reason(suffix string) string { return k.Name + suffix }
