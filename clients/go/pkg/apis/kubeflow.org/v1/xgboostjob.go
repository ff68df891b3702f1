package v1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

const (
	XGBoostJobKind     = "XGBoostJob"
	XGBoostJobPlural   = "xgboostjobs"
	XGBoostJobSingular = "xgboostjob"
	// XGBoostJobFrameworkName is how metrics name the kind.
	XGBoostJobFrameworkName = "xgboost"
	// XGBoostJobDefaultContainerName is the name that the container of the framework must have.
	XGBoostJobDefaultContainerName = "xgboost"
	// XGBoostJobDefaultPortName is the name of the port by which replicas reach each other, and XGBoostJobDefaultPort its default.
	XGBoostJobDefaultPortName = "xgboostjob-port"
	XGBoostJobDefaultPort     = 9999
	// XGBoostJobDefaultRestartPolicy is that of replicas which have none.
	XGBoostJobDefaultRestartPolicy = RestartPolicyNever
)

const (
	XGBoostJobReplicaTypeMaster ReplicaType = "Master"
	XGBoostJobReplicaTypeWorker ReplicaType = "Worker"
)

// XGBoostJob runs XGBoost or LightGBM: a master and workers.
//
// +genclient
// +genclient:method=GetScale,verb=get,subresource=scale,result=k8s.io/api/autoscaling/v1.Scale
// +genclient:method=UpdateScale,verb=update,subresource=scale,input=k8s.io/api/autoscaling/v1.Scale,result=k8s.io/api/autoscaling/v1.Scale
// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object
type XGBoostJob struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`
	// What to run.
	// +optional
	Spec XGBoostJobSpec `json:"spec,omitempty"`
	// What is known of the run. Written by the operator.
	// +optional
	Status JobStatus `json:"status,omitempty"`
}

// XGBoostJobSpec is the spec of an XGBoostJob.
type XGBoostJobSpec struct {
	// What applies to the job as a whole.
	// +optional
	RunPolicy RunPolicy `json:"runPolicy,omitempty"`
	// The replica types by name: Master, Worker.
	XGBReplicaSpecs map[ReplicaType]*ReplicaSpec `json:"xgbReplicaSpecs"`
}

// XGBoostJobList is a list of XGBoostJobs.
//
// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object
type XGBoostJobList struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []XGBoostJob `json:"items"`
}
