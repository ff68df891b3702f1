package v1

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Labels of the pods of a job.
const (
	// JobNameLabel has the name of the job.
	JobNameLabel = "training.kubeflow.org/job-name"
	// ReplicaTypeLabel has the replica type, in lower case.
	ReplicaTypeLabel = "training.kubeflow.org/replica-type"
	// ReplicaIndexLabel has the index of the replica in its replica type.
	ReplicaIndexLabel = "training.kubeflow.org/replica-index"
	// OperatorNameLabel has the name of the controller of the kind, such as pytorchjob-controller.
	OperatorNameLabel = "training.kubeflow.org/operator-name"
	// JobRoleLabel has the value master on the pods of the replica type that leads.
	JobRoleLabel = "training.kubeflow.org/job-role"
)

// Values of RunPolicy.ManagedBy.
const (
	// KubeflowJobsController is the training operator, the default.
	KubeflowJobsController = "kubeflow.org/training-operator"
	// MultiKueueController is MultiKueue, which runs the job in another cluster.
	MultiKueueController = "kueue.x-k8s.io/multikueue"
)

// RunPolicy is what applies to a job as a whole.
type RunPolicy struct {
	// Which pods to delete when the job is over. Default: none.
	// +optional
	CleanPodPolicy *CleanPodPolicy `json:"cleanPodPolicy,omitempty"`
	// Seconds after the end until the job is deleted. Default: never.
	// +optional
	TTLSecondsAfterFinished *int32 `json:"ttlSecondsAfterFinished,omitempty"`
	// Seconds after the start until the job fails. Default: never.
	// +optional
	ActiveDeadlineSeconds *int64 `json:"activeDeadlineSeconds,omitempty"`
	// Restarts until the job fails. Default: no limit.
	// +optional
	BackoffLimit *int32 `json:"backoffLimit,omitempty"`
	// How a gang scheduler shall treat the pods.
	// +optional
	SchedulingPolicy *SchedulingPolicy `json:"schedulingPolicy,omitempty"`
	// No pods while true; setting it stops a running job. Default false.
	// +optional
	Suspend *bool `json:"suspend,omitempty"`
	// Which controller runs the job: kubeflow.org/training-operator, the default, or kueue.x-k8s.io/multikueue. It cannot be
	// changed.
	// +optional
	ManagedBy *string `json:"managedBy,omitempty"`
}

// CleanPodPolicy says which pods are deleted when a job is over.
type CleanPodPolicy string

const (
	CleanPodPolicyUndefined CleanPodPolicy = ""
	CleanPodPolicyAll       CleanPodPolicy = "All"
	CleanPodPolicyRunning   CleanPodPolicy = "Running"
	CleanPodPolicyNone      CleanPodPolicy = "None"
)

// SchedulingPolicy says how a gang scheduler shall treat the pods of a job.
type SchedulingPolicy struct {
	// How many pods must be placed together. Default: all.
	// +optional
	MinAvailable *int32 `json:"minAvailable,omitempty"`
	// Queue of the gang scheduler. It cannot be changed.
	// +optional
	Queue string `json:"queue,omitempty"`
	// What the pods need together. Default: the sum of their requests.
	// +optional
	MinResources *map[corev1.ResourceName]resource.Quantity `json:"minResources,omitempty"`
	// Priority class of the group.
	// +optional
	PriorityClass string `json:"priorityClass,omitempty"`
	// Seconds to wait for the whole group.
	// +optional
	ScheduleTimeoutSeconds *int32 `json:"scheduleTimeoutSeconds,omitempty"`
}

// ReplicaType is a key of the replica specs of a job, such as Worker. Each kind has its own.
type ReplicaType string

// ReplicaSpec is one replica type: how many replicas, of which pod, and what happens when one fails.
type ReplicaSpec struct {
	// How many replicas. Default 1.
	// +optional
	Replicas *int32 `json:"replicas,omitempty"`
	// The pod that each replica runs.
	// +optional
	Template corev1.PodTemplateSpec `json:"template,omitempty"`
	// What happens when a pod fails. Each kind has its own default.
	// +optional
	RestartPolicy RestartPolicy `json:"restartPolicy,omitempty"`
}

// RestartPolicy says what happens when a pod fails.
type RestartPolicy string

const (
	RestartPolicyAlways    RestartPolicy = "Always"
	RestartPolicyOnFailure RestartPolicy = "OnFailure"
	RestartPolicyNever     RestartPolicy = "Never"
	// RestartPolicyExitCode: a pod that ends with 1 to 127 fails its job, one that ends with 128 or more is restarted.
	RestartPolicyExitCode RestartPolicy = "ExitCode"
)

// JobStatus is the status of a job of any kind. The operator writes it.
type JobStatus struct {
	// Conditions of the job; the last one is the state that kubectl shows.
	// +optional
	// +listType=atomic
	Conditions []JobCondition `json:"conditions,omitempty"`
	// Replicas by replica type: how many are active, succeeded, failed.
	// +optional
	ReplicaStatuses map[ReplicaType]*ReplicaStatus `json:"replicaStatuses,omitempty"`
	// When the operator first accepted the job, or resumed it.
	// +optional
	StartTime *metav1.Time `json:"startTime,omitempty"`
	// When the job got its terminal condition.
	// +optional
	CompletionTime *metav1.Time `json:"completionTime,omitempty"`
	// Not used by this operator; kept for clients that read it.
	// +optional
	LastReconcileTime *metav1.Time `json:"lastReconcileTime,omitempty"`
	// The generation of the job that this status speaks of.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
}

// ReplicaStatus counts the replicas of one replica type.
type ReplicaStatus struct {
	// Running and not being deleted.
	// +optional
	Active int32 `json:"active,omitempty"`
	// Ended with exit code 0.
	// +optional
	Succeeded int32 `json:"succeeded,omitempty"`
	// Ended with another exit code.
	// +optional
	Failed int32 `json:"failed,omitempty"`
	// Selects the pods of this replica type; for the scale subresource.
	// +optional
	Selector string `json:"selector,omitempty"`
}

// JobCondition is one statement about a job.
type JobCondition struct {
	Type JobConditionType `json:"type"`
	// True, False or Unknown.
	Status corev1.ConditionStatus `json:"status"`
	// A word for programs. That of a job whose spec is malformed is InvalidSpec.
	// +optional
	Reason string `json:"reason,omitempty"`
	// A sentence for readers.
	// +optional
	Message string `json:"message,omitempty"`
	// When the condition was last written.
	// +optional
	LastUpdateTime metav1.Time `json:"lastUpdateTime,omitempty"`
	// When the status of the condition last changed.
	// +optional
	LastTransitionTime metav1.Time `json:"lastTransitionTime,omitempty"`
}

// JobConditionType is the type of a condition.
type JobConditionType string

const (
	JobCreated    JobConditionType = "Created"
	JobRunning    JobConditionType = "Running"
	JobRestarting JobConditionType = "Restarting"
	JobSuspended  JobConditionType = "Suspended"
	JobSucceeded  JobConditionType = "Succeeded"
	JobFailed     JobConditionType = "Failed"
	// JobStalled: the spec cannot be acted on. training-operator does not have it.
	JobStalled JobConditionType = "Stalled"
)
