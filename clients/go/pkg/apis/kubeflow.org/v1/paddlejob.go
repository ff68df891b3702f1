package v1

import (
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const (
	PaddleJobKind     = "PaddleJob"
	PaddleJobPlural   = "paddlejobs"
	PaddleJobSingular = "paddlejob"
	// PaddleJobFrameworkName is how metrics name the kind.
	PaddleJobFrameworkName = "paddle"
	// PaddleJobDefaultContainerName is the name that the container of the framework must have.
	PaddleJobDefaultContainerName = "paddle"
	// PaddleJobDefaultPortName is the name of the port by which replicas reach each other, and PaddleJobDefaultPort its default.
	PaddleJobDefaultPortName = "master"
	PaddleJobDefaultPort     = 36543
	// PaddleJobDefaultRestartPolicy is that of replicas which have none.
	PaddleJobDefaultRestartPolicy = RestartPolicyOnFailure
)

const (
	PaddleJobReplicaTypeMaster ReplicaType = "Master"
	PaddleJobReplicaTypeWorker ReplicaType = "Worker"
)

// PaddleJob runs PaddlePaddle: workers alone, or masters and workers.
//
// +genclient
// +genclient:method=GetScale,verb=get,subresource=scale,result=k8s.io/api/autoscaling/v1.Scale
// +genclient:method=UpdateScale,verb=update,subresource=scale,input=k8s.io/api/autoscaling/v1.Scale,result=k8s.io/api/autoscaling/v1.Scale
// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object
type PaddleJob struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`
	// What to run.
	// +optional
	Spec PaddleJobSpec `json:"spec,omitempty"`
	// What is known of the run. Written by the operator.
	// +optional
	Status JobStatus `json:"status,omitempty"`
}

// PaddleJobSpec is the spec of a PaddleJob.
type PaddleJobSpec struct {
	// What applies to the job as a whole.
	// +optional
	RunPolicy RunPolicy `json:"runPolicy,omitempty"`
	// Let the number of workers change while the job runs.
	// +optional
	ElasticPolicy *PaddleElasticPolicy `json:"elasticPolicy,omitempty"`
	// The replica types by name: Master, Worker.
	PaddleReplicaSpecs map[ReplicaType]*ReplicaSpec `json:"paddleReplicaSpecs"`
}

// PaddleElasticPolicy says how the number of workers of a PaddleJob may change.
type PaddleElasticPolicy struct {
	// Fewest workers that an autoscaler leaves. Default: maxReplicas, else the number of workers.
	// +optional
	MinReplicas *int32 `json:"minReplicas,omitempty"`
	// Most workers that an autoscaler asks for. Default: minReplicas, else the number of workers.
	// +optional
	MaxReplicas *int32 `json:"maxReplicas,omitempty"`
	// Has no effect; use runPolicy.backoffLimit.
	// +optional
	MaxRestarts *int32 `json:"maxRestarts,omitempty"`
	// What a horizontal pod autoscaler shall look at to choose the number of workers.
	// +optional
	Metrics []autoscalingv2.MetricSpec `json:"metrics,omitempty"`
}

// PaddleJobList is a list of PaddleJobs.
//
// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object
type PaddleJobList struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []PaddleJob `json:"items"`
}
