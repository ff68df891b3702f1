package v1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

const (
	JAXJobKind     = "JAXJob"
	JAXJobPlural   = "jaxjobs"
	JAXJobSingular = "jaxjob"
	// JAXJobFrameworkName is how metrics name the kind.
	JAXJobFrameworkName = "jax"
	// JAXJobDefaultContainerName is the name that the container of the framework must have.
	JAXJobDefaultContainerName = "jax"
	// JAXJobDefaultPortName is the name of the port by which replicas reach each other, and JAXJobDefaultPort its default.
	JAXJobDefaultPortName = "jaxjob-port"
	JAXJobDefaultPort     = 6666
	// JAXJobDefaultRestartPolicy is that of replicas which have none.
	JAXJobDefaultRestartPolicy = RestartPolicyNever
)

const JAXJobReplicaTypeWorker ReplicaType = "Worker"

// JAXJob runs JAX: workers.
//
// +genclient
// +genclient:method=GetScale,verb=get,subresource=scale,result=k8s.io/api/autoscaling/v1.Scale
// +genclient:method=UpdateScale,verb=update,subresource=scale,input=k8s.io/api/autoscaling/v1.Scale,result=k8s.io/api/autoscaling/v1.Scale
// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object
type JAXJob struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`
	// What to run.
	// +optional
	Spec JAXJobSpec `json:"spec,omitempty"`
	// What is known of the run. Written by the operator.
	// +optional
	Status JobStatus `json:"status,omitempty"`
}

// JAXJobSpec is the spec of a JAXJob.
type JAXJobSpec struct {
	// What applies to the job as a whole.
	// +optional
	RunPolicy RunPolicy `json:"runPolicy,omitempty"`
	// The replica types by name: Worker.
	JAXReplicaSpecs map[ReplicaType]*ReplicaSpec `json:"jaxReplicaSpecs"`
}

// JAXJobList is a list of JAXJobs.
//
// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object
type JAXJobList struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []JAXJob `json:"items"`
}
