package v1

import (
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const (
	PyTorchJobKind     = "PyTorchJob"
	PyTorchJobPlural   = "pytorchjobs"
	PyTorchJobSingular = "pytorchjob"
	// PyTorchJobFrameworkName is how metrics name the kind.
	PyTorchJobFrameworkName = "pytorch"
	// PyTorchJobDefaultContainerName is the name that the container of the framework must have.
	PyTorchJobDefaultContainerName = "pytorch"
	// PyTorchJobDefaultPortName is the name of the port by which replicas reach each other, and PyTorchJobDefaultPort its default.
	PyTorchJobDefaultPortName = "pytorchjob-port"
	PyTorchJobDefaultPort     = 23456
	// PyTorchJobDefaultRestartPolicy is that of replicas which have none.
	PyTorchJobDefaultRestartPolicy = RestartPolicyOnFailure
)

const (
	PyTorchJobReplicaTypeMaster ReplicaType = "Master"
	PyTorchJobReplicaTypeWorker ReplicaType = "Worker"
)

// PyTorchJob runs PyTorch: one master and workers, or workers alone, as torchrun starts them.
//
// +genclient
// +genclient:method=GetScale,verb=get,subresource=scale,result=k8s.io/api/autoscaling/v1.Scale
// +genclient:method=UpdateScale,verb=update,subresource=scale,input=k8s.io/api/autoscaling/v1.Scale,result=k8s.io/api/autoscaling/v1.Scale
// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object
type PyTorchJob struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`
	// What to run.
	// +optional
	Spec PyTorchJobSpec `json:"spec,omitempty"`
	// What is known of the run. Written by the operator.
	// +optional
	Status JobStatus `json:"status,omitempty"`
}

// PyTorchJobSpec is the spec of a PyTorchJob.
type PyTorchJobSpec struct {
	// What applies to the job as a whole.
	// +optional
	RunPolicy RunPolicy `json:"runPolicy,omitempty"`
	// Let the number of workers change while the job runs, as the elastic launch of torchrun does.
	// +optional
	ElasticPolicy *ElasticPolicy `json:"elasticPolicy,omitempty"`
	// The replica types by name: Master, Worker.
	PyTorchReplicaSpecs map[ReplicaType]*ReplicaSpec `json:"pytorchReplicaSpecs"`
	// Processes that torchrun starts in each pod: a number, auto, cpu or gpu. Default auto.
	// +optional
	NprocPerNode *string `json:"nprocPerNode,omitempty"`
}

// ElasticPolicy says how the number of workers of a PyTorchJob may change.
type ElasticPolicy struct {
	// Fewest workers that the job continues with. Default: maxReplicas, else the number of workers.
	// +optional
	MinReplicas *int32 `json:"minReplicas,omitempty"`
	// Most workers that the job grows to. Default: minReplicas, else the number of workers.
	// +optional
	MaxReplicas *int32 `json:"maxReplicas,omitempty"`
	// How workers find each other. Default c10d.
	// +optional
	RDZVBackend *RDZVBackend `json:"rdzvBackend,omitempty"`
	// Port of the rendezvous. Default: the port pytorchjob-port of the workers.
	// +optional
	RDZVPort *int32 `json:"rdzvPort,omitempty"`
	// Host of the rendezvous. Default: worker 0.
	// +optional
	RDZVHost *string `json:"rdzvHost,omitempty"`
	// Name of the rendezvous.
	// +optional
	RDZVID *string `json:"rdzvId,omitempty"`
	// Further settings of the rendezvous.
	// +optional
	RDZVConf []RDZVConf `json:"rdzvConf,omitempty"`
	// Start a rendezvous in the pod itself.
	// +optional
	Standalone *bool `json:"standalone,omitempty"`
	// Processes in each pod; use spec.nprocPerNode instead.
	// +optional
	NProcPerNode *int32 `json:"nProcPerNode,omitempty"`
	// How often torchrun restarts the processes of a group.
	// +optional
	MaxRestarts *int32 `json:"maxRestarts,omitempty"`
	// What a horizontal pod autoscaler shall look at to choose the number of workers.
	// +optional
	Metrics []autoscalingv2.MetricSpec `json:"metrics,omitempty"`
}

// RDZVBackend is how workers find each other.
type RDZVBackend string

const (
	BackendC10D   RDZVBackend = "c10d"
	BackendETCD   RDZVBackend = "etcd"
	BackendETCDV2 RDZVBackend = "etcd-v2"
	// BackendStatic: training-operator has no constant for it.
	BackendStatic RDZVBackend = "static"
)

// RDZVConf is one setting of a rendezvous.
type RDZVConf struct {
	// Name of the setting.
	// +optional
	Key string `json:"key,omitempty"`
	// Value of the setting.
	// +optional
	Value string `json:"value,omitempty"`
}

// PyTorchJobList is a list of PyTorchJobs.
//
// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object
type PyTorchJobList struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []PyTorchJob `json:"items"`
}
