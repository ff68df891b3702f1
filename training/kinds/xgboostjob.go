package kinds

import (
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"stoic/schema"
	"stoic/training"
)

// XGBoostJobObject runs XGBoost or LightGBM: one master, and workers.
// This is its wire form. The CRD is generated from it; it is never allocated.
//
// The first two columns are those that scripts parse; the others show with -o wide.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:path=xgboostjobs,singular=xgboostjob,shortName=xgj,categories=training,scope=Namespaced
// +kubebuilder:subresource:status
// +kubebuilder:subresource:scale:specpath=.spec.xgbReplicaSpecs.Worker.replicas,statuspath=.status.replicaStatuses.Worker.active,selectorpath=.status.replicaStatuses.Worker.selector
// +kubebuilder:printcolumn:name=State,type=string,JSONPath=`.status.conditions[-1:].type`
// +kubebuilder:printcolumn:name=Age,type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:printcolumn:name=Reason,type=string,priority=1,JSONPath=`.status.conditions[-1:].reason`
// +kubebuilder:printcolumn:name=Master,type=integer,priority=1,JSONPath=`.status.replicaStatuses.Master.active`
// +kubebuilder:printcolumn:name=Worker,type=integer,priority=1,JSONPath=`.status.replicaStatuses.Worker.active`
// +kubebuilder:printcolumn:name=Message,type=string,priority=1,JSONPath=`.status.conditions[-1:].message`
type XGBoostJobObject struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`
	// What to run.
	Spec XGBoostJobSpec `json:"spec,omitempty"`
	// What is known of the run. Written by the operator.
	Status training.Status `json:"status,omitempty"`
}

// XGBoostJobSpec is the spec of an XGBoostJob in wire form.
type XGBoostJobSpec struct {
	// What applies to the job as a whole.
	// +optional
	RunPolicy training.RunPolicySpec `json:"runPolicy,omitempty"`
	// The replica types by name: Master, Worker.
	XGBReplicaSpecs map[string]training.ReplicaSpec `json:"xgbReplicaSpecs"`
}

// XGBoostJob returns the kind kubeflow.org/v1 XGBoostJob: a master and workers.
func XGBoostJob() *training.Kind { return xgBoostJobKind }

// xgBoostJobKind is read-only: it is shared by every object of the kind.
var xgBoostJobKind = &training.Kind{
	Group: "kubeflow.org", Version: "v1", Name: "XGBoostJob", Plural: "xgboostjobs", Singular: "xgboostjob",
	Framework: "xgboost", Controller: "xgboostjob-controller",
	ReplicaSpecsField: "xgbReplicaSpecs",
	ReplicaTypes: []training.KnownReplicaType{
		{Name: master, Label: "master", Replicas: 1, Only: 1, Required: true},
		{Name: worker, Label: "worker", Replicas: 1},
	},
	Container: "xgboost",
	Port:      training.Port{Name: "xgboostjob-port", Number: 9999},
	Restart:   training.RestartNever,

	Wire:        reflect.TypeFor[XGBoostJobObject](),
	Options:     func() any { return new(struct{}) },
	Lower:       lowerXGBoostJob,
	Environment: xgbEnvironment,
	Variables: slices.Concat(
		rendezvousVariables("", "MASTER_PORT", "MASTER_ADDR", "WORLD_SIZE", "RANK"),
		[]training.Variable{unbufferedVariable()},
		rendezvousVariables("a job of more than one replica", "WORKER_PORT", xgbWorkers),
	),
	EnvEverywhere: true,
	Sentences:     sentences,
}

// lowerXGBoostJob sets the success replica type, Master.
func lowerXGBoostJob(job *training.Job, _ any) []schema.Problem {
	if job.ReplicaType(master) != nil {
		job.Success = training.Success{ReplicaType: master, Rule: training.SuccessAll, Whole: true}
	}
	// The number of replicas is not checked yet, so the list of workers is not built here.
	if size := xgbWorkersSize(job); size > variableLimit {
		return []schema.Problem{{Code: schema.TooLarge, Path: "spec.xgbReplicaSpecs",
			Found: fmt.Sprintf("%d replicas, whose %s would be %d bytes long", job.Replicas(), xgbWorkers, size),
			Want:  variableTooLong(), Hint: "use fewer workers or a shorter name"}}
	}
	return sizes(job, func(string) string { return "spec.xgbReplicaSpecs" })
}

const xgbWorkers = "WORKER_ADDRS"

// xgbEnvironment returns the variables that XGBoost's tracker and LightGBM read, in the order of training-operator. XGBoost
// reads the first four, LightGBM also the last two.
//
//	MASTER_ADDR, _PORT  the master
//	RANK                0 for the master, 1.. for the workers
//	WORLD_SIZE          replicas
//	WORKER_ADDRS        all workers; it and WORKER_PORT are set if there is more than one replica
func xgbEnvironment(job *training.Job) func(*training.ReplicaType, int) []training.EnvVar {
	masters, port := 0, job.Kind.Port.Number
	if spec := job.ReplicaType(master); spec != nil {
		masters, port = spec.Replicas, spec.Port
	}
	meeting := []training.EnvVar{{Name: "MASTER_PORT", Value: strconv.Itoa(int(port))},
		{Name: "MASTER_ADDR", Value: training.ChildName(job.Meta.Name, "master", 0)}, {Name: "WORLD_SIZE", Value: strconv.Itoa(job.Replicas())}}
	peers := xgbPeers(job)
	return func(rtype *training.ReplicaType, index int) []training.EnvVar {
		rank := index
		if rtype.Name == worker {
			rank += masters
		}
		variables := append(make([]training.EnvVar, 0, 7), meeting...)
		variables = append(variables, training.EnvVar{Name: "RANK", Value: strconv.Itoa(rank)}, unbuffered())
		return append(variables, peers...)
	}
}

// xgbPeers returns the variables with the addresses of the workers.
func xgbPeers(job *training.Job) []training.EnvVar {
	workers := job.ReplicaType(worker)
	if workers == nil || job.Replicas() <= 1 {
		return nil
	}
	names := make([]string, workers.Replicas)
	for i := range names {
		names[i] = training.ChildName(job.Meta.Name, workers.Label, i)
	}
	return []training.EnvVar{{Name: "WORKER_PORT", Value: strconv.Itoa(int(workers.Port))}, {Name: xgbWorkers, Value: strings.Join(names, ",")}}
}

// xgbWorkersSize returns the length of WORKER_ADDRS=value, up to one byte, without building it.
func xgbWorkersSize(job *training.Job) int {
	workers := job.ReplicaType(worker)
	if workers == nil {
		return 0
	}
	entry := len(training.ChildName(job.Meta.Name, workers.Label, 0)) - 1 + len(",")
	return len(xgbWorkers) + len("=") + workers.Replicas*entry + digitsBelow(workers.Replicas)
}
