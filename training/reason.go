package training

import "stoic/schema"

// Every reason string is API: users write alerts and scripts on them. They are defined only in this file.
// Kind.Reason puts the kind's name in front of some of them: TFJobCreated.
const (
	ReasonInvalidSpec       = "InvalidSpec"       // Stalled and Failed of a job that was never accepted
	ReasonInvalidSpecUpdate = "InvalidSpecUpdate" // Stalled of a job that was accepted before
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
	ReasonSpecWarning      = "SpecWarning"      // event: a warning that does not keep the job from running

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
	ReasonPodRestartPolicy    = "SetPodTemplateRestartPolicy" // beside the warning of the spec: clients of 1.9 know it
)

// Reasons of events about pods that cannot run, or that something other than their job removes; see PodProblemKinds.
const (
	ReasonPodUnschedulable   = "PodUnschedulable"
	ReasonPodSchedulingGated = "PodSchedulingGated"
	ReasonPodImageFailed     = "PodImageFailed"
	ReasonPodContainerFailed = "PodContainerFailed"
	ReasonPodCrashLoop       = "PodCrashLoop"
	ReasonPodNotAdmitted     = "PodNotAdmitted"
	ReasonPodPreempted       = "PodPreempted"
	ReasonPodEvicted         = "PodEvicted"
	ReasonPodNodeLost        = "PodNodeLost"
	ReasonPodNotEnding       = "PodNotEnding"
	ReasonPodNotStarted      = "PodNotStarted"
	ReasonPodNotReady        = "PodNotReady"
	ReasonPodHalfEnded       = "PodHalfEnded"
	ReasonPodCannotRun       = "PodCannotRun" // all others
)

// Reasons of events about PodGroups and autoscalers; see DependentReasonsOf.
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

// Reasons of events about the other dependents, which cause no event when they are created: ConfigMaps, Secrets,
// ServiceAccounts, Roles, RoleBindings, and the Services and Jobs of a launcher. The message names the object.
const (
	ReasonCreateDependentFailed = "FailedCreateDependent"
	ReasonUpdateDependentFailed = "FailedUpdateDependent"
	ReasonDeleteDependentFailed = "FailedDeleteDependent"
	ReasonDependentUnavailable  = "DependentUnavailable"
	ReasonDependentNotEnding    = "DependentNotEnding" // of any resource but pods
	ReasonJobWithoutPod         = "JobWithoutPod"      // the batch/v1 Job of a launcher
)

// DependentReasons are the reasons of the events about dependent objects of one resource.
type DependentReasons struct{ Created, CreateFailed, UpdateFailed, Deleted, DeleteFailed, Unavailable string }

// DependentReasonsOf returns the reasons for a resource of dependent objects.
func DependentReasonsOf(r schema.Resource) DependentReasons {
	if r == Autoscalers() {
		return DependentReasons{ReasonCreatedAutoscaler, ReasonCreateAutoscalerFailed, ReasonUpdateAutoscalerFailed,
			ReasonDeletedAutoscaler, ReasonDeleteAutoscalerFailed, ReasonAutoscalerUnavailable}
	}
	if r == PodGroups() || r == PluginPodGroups() || IsNative(r) {
		return DependentReasons{ReasonCreatedPodGroup, ReasonCreatePodGroupFailed, ReasonUpdatePodGroupFailed,
			ReasonDeletedPodGroup, ReasonDeletePodGroupFailed, ReasonPodGroupUnavailable}
	}
	return DependentReasons{CreateFailed: ReasonCreateDependentFailed, UpdateFailed: ReasonUpdateDependentFailed,
		DeleteFailed: ReasonDeleteDependentFailed, Unavailable: ReasonDependentUnavailable}
}

// Reason puts the kind's name in front of a reason: Reason(ReasonCreated) is "TFJobCreated".
func (k *Kind) Reason(suffix string) string { return k.Name + suffix }
