package kinds

import (
	"reflect"
	"strconv"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"stoic/schema"
	"stoic/training"
)

// JAXJobObject runs JAX: workers, the first of which coordinates.
// This is its wire form. The CRD is generated from it; it is never allocated.
//
// The first two columns are those that scripts parse; the others show with -o wide.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:path=jaxjobs,singular=jaxjob,shortName=jxj,categories=training,scope=Namespaced
// +kubebuilder:subresource:status
// +kubebuilder:subresource:scale:specpath=.spec.jaxReplicaSpecs.Worker.replicas,statuspath=.status.replicaStatuses.Worker.active,selectorpath=.status.replicaStatuses.Worker.selector
// +kubebuilder:printcolumn:name=State,type=string,JSONPath=`.status.conditions[-1:].type`
// +kubebuilder:printcolumn:name=Age,type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:printcolumn:name=Reason,type=string,priority=1,JSONPath=`.status.conditions[-1:].reason`
// +kubebuilder:printcolumn:name=Worker,type=integer,priority=1,JSONPath=`.status.replicaStatuses.Worker.active`
// +kubebuilder:printcolumn:name=Message,type=string,priority=1,JSONPath=`.status.conditions[-1:].message`
type JAXJobObject struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`
	// What to run.
	Spec JAXJobSpec `json:"spec,omitempty"`
	// What is known of the run. Written by the operator.
	Status training.Status `json:"status,omitempty"`
}

// JAXJobSpec is the spec of a JAXJob in wire form.
type JAXJobSpec struct {
	// What applies to the job as a whole.
	// +optional
	RunPolicy training.RunPolicySpec `json:"runPolicy,omitempty"`
	// The replica types by name: Worker.
	JAXReplicaSpecs map[string]training.ReplicaSpec `json:"jaxReplicaSpecs"`
}

// JAXJob returns the kind kubeflow.org/v1 JAXJob: workers.
func JAXJob() *training.Kind { return jaxJobKind }

// jaxJobKind is read-only: it is shared by every object of the kind.
var jaxJobKind = &training.Kind{
	Group: "kubeflow.org", Version: "v1", Name: "JAXJob", Plural: "jaxjobs", Singular: "jaxjob",
	Framework: "jax", Controller: "jaxjob-controller",
	ReplicaSpecsField: "jaxReplicaSpecs",
	ReplicaTypes:      []training.KnownReplicaType{{Name: worker, Label: "worker", Replicas: 1}},
	Container:         "jax",
	Port:              training.Port{Name: "jaxjob-port", Number: 6666},
	Restart:           training.RestartNever,

	Wire:          reflect.TypeFor[JAXJobObject](),
	Options:       func() any { return new(struct{}) },
	Lower:         lowerJAXJob,
	Environment:   jaxEnvironment,
	Variables:     append(rendezvousVariables("", "COORDINATOR_PORT", "COORDINATOR_ADDRESS", "NUM_PROCESSES", "PROCESS_ID"), unbufferedVariable()),
	EnvEverywhere: true,
	Sentences:     sentences,
}

// lowerJAXJob sets the success rule: the job succeeds when all of its workers do.
func lowerJAXJob(job *training.Job, _ any) []schema.Problem {
	if job.ReplicaType(worker) != nil {
		job.Success = training.Success{ReplicaType: worker, Rule: training.SuccessAll}
	}
	return sizes(job, func(string) string { return "spec.jaxReplicaSpecs" })
}

// jaxEnvironment returns the variables that jax.distributed.initialize reads, in the order of training-operator: the address
// of the coordinator, the number of processes and the index of this process.
func jaxEnvironment(job *training.Job) func(*training.ReplicaType, int) []training.EnvVar {
	processes := strconv.Itoa(job.Replicas())
	return func(rtype *training.ReplicaType, index int) []training.EnvVar {
		return []training.EnvVar{
			unbuffered(),
			{Name: "COORDINATOR_PORT", Value: strconv.Itoa(int(rtype.Port))},
			{Name: "COORDINATOR_ADDRESS", Value: training.ChildName(job.Meta.Name, rtype.Label, 0)},
			{Name: "NUM_PROCESSES", Value: processes},
			{Name: "PROCESS_ID", Value: strconv.Itoa(index)},
		}
	}
}
