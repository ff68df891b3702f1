package v1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

const (
	TFJobKind     = "TFJob"
	TFJobPlural   = "tfjobs"
	TFJobSingular = "tfjob"
	// TFJobFrameworkName is how metrics name the kind.
	TFJobFrameworkName = "tensorflow"
	// TFJobDefaultContainerName is the name that the container of the framework must have.
	TFJobDefaultContainerName = "tensorflow"
	// TFJobDefaultPortName is the name of the port by which replicas reach each other, and TFJobDefaultPort its default.
	TFJobDefaultPortName = "tfjob-port"
	TFJobDefaultPort     = 2222
	// TFJobDefaultRestartPolicy is that of replicas which have none.
	TFJobDefaultRestartPolicy = RestartPolicyNever
)

const (
	TFJobReplicaTypePS     ReplicaType = "PS"
	TFJobReplicaTypeWorker ReplicaType = "Worker"
	TFJobReplicaTypeChief  ReplicaType = "Chief"
	TFJobReplicaTypeMaster ReplicaType = "Master"
	TFJobReplicaTypeEval   ReplicaType = "Evaluator"
)

// TFJob runs TensorFlow: parameter servers, workers, at most one of chief and master, evaluators.
//
// +genclient
// +genclient:method=GetScale,verb=get,subresource=scale,result=k8s.io/api/autoscaling/v1.Scale
// +genclient:method=UpdateScale,verb=update,subresource=scale,input=k8s.io/api/autoscaling/v1.Scale,result=k8s.io/api/autoscaling/v1.Scale
// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object
type TFJob struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`
	// What to run.
	// +optional
	Spec TFJobSpec `json:"spec,omitempty"`
	// What is known of the run. Written by the operator.
	// +optional
	Status JobStatus `json:"status,omitempty"`
}

// TFJobSpec is the spec of a TFJob.
type TFJobSpec struct {
	// What applies to the job as a whole.
	// +optional
	RunPolicy RunPolicy `json:"runPolicy,omitempty"`
	// When the job without a chief has succeeded. Default: with worker 0.
	// +optional
	SuccessPolicy *SuccessPolicy `json:"successPolicy,omitempty"`
	// The replica types by name: Chief, Evaluator, Master, PS, Worker.
	TFReplicaSpecs map[ReplicaType]*ReplicaSpec `json:"tfReplicaSpecs"`
	// Let workers come and go: TF_CONFIG in its sparse form, failed workers do not fail the job.
	// +optional
	EnableDynamicWorker bool `json:"enableDynamicWorker,omitempty"`
}

// SuccessPolicy says when a TFJob without a chief has succeeded.
type SuccessPolicy string

const (
	// SuccessPolicyDefault: with worker 0.
	SuccessPolicyDefault    SuccessPolicy = ""
	SuccessPolicyAllWorkers SuccessPolicy = "AllWorkers"
)

// TFJobList is a list of TFJobs.
//
// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object
type TFJobList struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []TFJob `json:"items"`
}
