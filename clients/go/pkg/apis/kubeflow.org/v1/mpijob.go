package v1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

const (
	MPIJobKind     = "MPIJob"
	MPIJobPlural   = "mpijobs"
	MPIJobSingular = "mpijob"
	// MPIJobFrameworkName is how metrics name the kind.
	MPIJobFrameworkName = "mpi"
	// MPIJobDefaultContainerName is the name that the container of the framework must have.
	MPIJobDefaultContainerName = "mpi"
	// MPIJobDefaultRestartPolicy is that of replicas which have none.
	MPIJobDefaultRestartPolicy = RestartPolicyNever
)

const (
	MPIJobReplicaTypeLauncher ReplicaType = "Launcher"
	MPIJobReplicaTypeWorker   ReplicaType = "Worker"
)

// MPIJob runs mpirun: a launcher, which reaches its workers by kubectl exec.
//
// +genclient
// +genclient:method=GetScale,verb=get,subresource=scale,result=k8s.io/api/autoscaling/v1.Scale
// +genclient:method=UpdateScale,verb=update,subresource=scale,input=k8s.io/api/autoscaling/v1.Scale,result=k8s.io/api/autoscaling/v1.Scale
// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object
type MPIJob struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`
	// What to run.
	// +optional
	Spec MPIJobSpec `json:"spec,omitempty"`
	// What is known of the run. Written by the operator.
	// +optional
	Status JobStatus `json:"status,omitempty"`
}

// MPIJobSpec is the spec of an MPIJob.
type MPIJobSpec struct {
	// Processes that each worker takes. Default 1.
	// +optional
	SlotsPerWorker *int32 `json:"slotsPerWorker,omitempty"`
	// The same as runPolicy.cleanPodPolicy, which counts where both are set.
	// +optional
	CleanPodPolicy *CleanPodPolicy `json:"cleanPodPolicy,omitempty"`
	// The replica types by name: Launcher, Worker.
	MPIReplicaSpecs map[ReplicaType]*ReplicaSpec `json:"mpiReplicaSpecs"`
	// The container of a worker in which the launcher starts processes. Default: the one that kubectl exec takes.
	// +optional
	MainContainer string `json:"mainContainer,omitempty"`
	// What applies to the job as a whole.
	// +optional
	RunPolicy RunPolicy `json:"runPolicy,omitempty"`
}

// MPIJobList is a list of MPIJobs.
//
// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object
type MPIJobList struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []MPIJob `json:"items"`
}
