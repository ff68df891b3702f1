package training

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// RunPolicySpec is spec.runPolicy in wire form: what the author may write. The CRD is generated from it and
// the decoder fills it; nothing behind the converter sees it.
type RunPolicySpec struct {
	// Which pods to delete when the job is over: All, Running or None. Default None.
	// +optional
	// +kubebuilder:validation:Enum="";All;Running;None
	CleanPodPolicy *string `json:"cleanPodPolicy,omitempty"`
	// Seconds after the end until the job is deleted. Default: never.
	// +optional
	// +kubebuilder:validation:Minimum=0
	TTLSecondsAfterFinished *int32 `json:"ttlSecondsAfterFinished,omitempty"`
	// Seconds after the start until the job fails. Default: never.
	// +optional
	// +kubebuilder:validation:Minimum=0
	ActiveDeadlineSeconds *int64 `json:"activeDeadlineSeconds,omitempty"`
	// Restarts until the job fails. Default: no limit.
	// +optional
	// +kubebuilder:validation:Minimum=0
	BackoffLimit *int32 `json:"backoffLimit,omitempty"`
	// How a gang scheduler shall treat the pods.
	// +optional
	SchedulingPolicy *SchedulingPolicySpec `json:"schedulingPolicy,omitempty"`
	// No pods while true; setting it stops a running job.
	// +optional
	// +kubebuilder:default:=false
	Suspend *bool `json:"suspend,omitempty"`
	// Which controller runs the job. Default: this one.
	// +optional
	// +kubebuilder:validation:XValidation:rule="self in ['kubeflow.org/training-operator', 'kueue.x-k8s.io/multikueue']",message="must be kubeflow.org/training-operator or kueue.x-k8s.io/multikueue"
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="managedBy is immutable"
	ManagedBy *string `json:"managedBy,omitempty"`
}

// SchedulingPolicySpec is spec.runPolicy.schedulingPolicy in wire form.
type SchedulingPolicySpec struct {
	// How many pods must be placed together. Default: all.
	// +optional
	// +kubebuilder:validation:Minimum=0
	MinAvailable *int32 `json:"minAvailable,omitempty"`
	// Queue of the gang scheduler.
	// +optional
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="spec.runPolicy.schedulingPolicy.queue is immutable"
	Queue string `json:"queue,omitempty"`
	// What the pods need together. Default: the sum of their requests.
	// +optional
	MinResources map[corev1.ResourceName]resource.Quantity `json:"minResources,omitempty"`
	// Priority class of the group.
	// +optional
	PriorityClass string `json:"priorityClass,omitempty"`
	// Seconds to wait for the whole group.
	// +optional
	// +kubebuilder:validation:Minimum=0
	ScheduleTimeoutSeconds *int32 `json:"scheduleTimeoutSeconds,omitempty"`
}

// ReplicaSpec is one replica type: how many replicas, of which pod, and what happens when one fails.
type ReplicaSpec struct {
	// How many replicas. Default 1.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=20000
	Replicas *int32 `json:"replicas,omitempty"`
	// The pod that each replica runs.
	// +optional
	Template corev1.PodTemplateSpec `json:"template,omitempty"`
	// What happens when a pod fails: Always, OnFailure, Never or ExitCode.
	// +optional
	// +kubebuilder:validation:Enum="";Always;OnFailure;Never;ExitCode
	RestartPolicy string `json:"restartPolicy,omitempty"`
}
