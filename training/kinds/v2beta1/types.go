package v2beta1

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"stoic/training"
)

// MPIJobObject runs an MPI program: a launcher, which a batch/v1 Job runs, and workers, which it reaches over SSH.
// This is its wire form. The CRD is generated from it; it is never allocated.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:path=mpijobs,singular=mpijob,shortName=mpij,categories=training,scope=Namespaced
// +kubebuilder:subresource:status
// +kubebuilder:subresource:scale:specpath=.spec.mpiReplicaSpecs.Worker.replicas,statuspath=.status.replicaStatuses.Worker.active,selectorpath=.status.replicaStatuses.Worker.selector
// +kubebuilder:printcolumn:name=State,type=string,JSONPath=`.status.conditions[-1:].type`
// +kubebuilder:printcolumn:name=Age,type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:printcolumn:name=Reason,type=string,priority=1,JSONPath=`.status.conditions[-1:].reason`
// +kubebuilder:printcolumn:name=Launcher,type=integer,priority=1,JSONPath=`.status.replicaStatuses.Launcher.active`
// +kubebuilder:printcolumn:name=Worker,type=integer,priority=1,JSONPath=`.status.replicaStatuses.Worker.active`
// +kubebuilder:printcolumn:name=Message,type=string,priority=1,JSONPath=`.status.conditions[-1:].message`
type MPIJobObject struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`
	// What to run.
	Spec MPIJobSpec `json:"spec,omitempty"`
	// What is known of the run. Written by the operator.
	Status training.Status `json:"status,omitempty"`
}

// MPIJobSpec is the spec of an MPIJob in wire form.
type MPIJobSpec struct {
	// What applies to the job as a whole.
	// +optional
	RunPolicy     RunPolicySpec `json:"runPolicy,omitempty"`
	MPIJobOptions `json:",inline"`
	// The replica types by name: Launcher, Worker.
	MPIReplicaSpecs map[string]ReplicaSpec `json:"mpiReplicaSpecs"`
}

// MPIJobOptions are the fields that only an MPIJob has.
type MPIJobOptions struct {
	// Processes that mpirun starts on each worker. Default 1.
	// +optional
	// +kubebuilder:default:=1
	// +kubebuilder:validation:Minimum=0
	SlotsPerWorker *int32 `json:"slotsPerWorker,omitempty"`
	// The launcher computes, too: it is the first host of the hostfile.
	// +optional
	// +kubebuilder:default:=false
	RunLauncherAsWorker *bool `json:"runLauncherAsWorker,omitempty"`
	// Where the SSH key is mounted: the folder .ssh of the user that the containers run as.
	// +optional
	// +kubebuilder:default:="/root/.ssh"
	SSHAuthMountPath *string `json:"sshAuthMountPath,omitempty"`
	// When the launcher is created: AtStartup or WaitForWorkersReady.
	// +optional
	// +kubebuilder:default:=AtStartup
	// +kubebuilder:validation:Enum="";AtStartup;WaitForWorkersReady
	LauncherCreationPolicy *string `json:"launcherCreationPolicy,omitempty"`
	// Whose mpirun the launcher runs: OpenMPI, Intel or MPICH.
	// +optional
	// +kubebuilder:default:=OpenMPI
	// +kubebuilder:validation:Enum="";OpenMPI;Intel;MPICH
	MPIImplementation *string `json:"mpiImplementation,omitempty"`
}

// RunPolicySpec is spec.runPolicy in wire form. It has the fields of that of the other kinds.
type RunPolicySpec struct {
	// Which pods to delete when the job is over: All, Running or None. Default None.
	// +optional
	// +kubebuilder:validation:Enum="";All;Running;None
	CleanPodPolicy *string `json:"cleanPodPolicy,omitempty"`
	// Seconds after the end until the job is deleted. Default: never.
	// +optional
	// +kubebuilder:validation:Minimum=0
	TTLSecondsAfterFinished *int32 `json:"ttlSecondsAfterFinished,omitempty"`
	// Seconds after the start of the launcher until the job fails. Default: never.
	// +optional
	// +kubebuilder:validation:Minimum=0
	ActiveDeadlineSeconds *int64 `json:"activeDeadlineSeconds,omitempty"`
	// Restarts of the launcher until the job fails. Default 6.
	// +optional
	// +kubebuilder:validation:Minimum=0
	BackoffLimit *int32 `json:"backoffLimit,omitempty"`
	// How a gang scheduler shall treat the pods.
	// +optional
	SchedulingPolicy *training.SchedulingPolicySpec `json:"schedulingPolicy,omitempty"`
	// No pods while true; setting it stops a running job.
	// +optional
	// +kubebuilder:default:=false
	Suspend *bool `json:"suspend,omitempty"`
	// Which controller runs the job. Default: this one.
	// +optional
	// +kubebuilder:validation:XValidation:rule="self in ['kubeflow.org/mpi-operator', 'kueue.x-k8s.io/multikueue']",message="must be kubeflow.org/mpi-operator or kueue.x-k8s.io/multikueue"
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="managedBy is immutable"
	ManagedBy *string `json:"managedBy,omitempty"`
}

// ReplicaSpec is one replica type: how many replicas, of which pod, and what happens when one fails.
type ReplicaSpec struct {
	// How many replicas. The launcher has one; of workers there is at least one.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=20000
	Replicas *int32 `json:"replicas,omitempty"`
	// The pod that each replica runs.
	// +optional
	Template corev1.PodTemplateSpec `json:"template,omitempty"`
	// What happens when a pod fails: OnFailure or Never. Default: OnFailure for the launcher, Never for workers.
	// +optional
	// +kubebuilder:validation:Enum="";OnFailure;Never
	RestartPolicy string `json:"restartPolicy,omitempty"`
}
