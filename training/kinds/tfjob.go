package kinds

import (
	"fmt"
	"reflect"
	"strconv"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"stoic/schema"
	"stoic/training"
)

// TFJobObject runs TensorFlow: parameter servers, workers, evaluators, at most one of chief and master.
// This is its wire form. The CRD is generated from it; it is never allocated.
//
// The first two columns are those that scripts parse; the others show with -o wide.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:path=tfjobs,singular=tfjob,shortName=tfj,categories=training,scope=Namespaced
// +kubebuilder:subresource:status
// +kubebuilder:subresource:scale:specpath=.spec.tfReplicaSpecs.Worker.replicas,statuspath=.status.replicaStatuses.Worker.active,selectorpath=.status.replicaStatuses.Worker.selector
// +kubebuilder:printcolumn:name=State,type=string,JSONPath=`.status.conditions[-1:].type`
// +kubebuilder:printcolumn:name=Age,type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:printcolumn:name=Reason,type=string,priority=1,JSONPath=`.status.conditions[-1:].reason`
// +kubebuilder:printcolumn:name=Chief,type=integer,priority=1,JSONPath=`.status.replicaStatuses.Chief.active`
// +kubebuilder:printcolumn:name=Master,type=integer,priority=1,JSONPath=`.status.replicaStatuses.Master.active`
// +kubebuilder:printcolumn:name=PS,type=integer,priority=1,JSONPath=`.status.replicaStatuses.PS.active`
// +kubebuilder:printcolumn:name=Worker,type=integer,priority=1,JSONPath=`.status.replicaStatuses.Worker.active`
// +kubebuilder:printcolumn:name=Message,type=string,priority=1,JSONPath=`.status.conditions[-1:].message`
type TFJobObject struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`
	// What to run.
	Spec TFJobSpec `json:"spec,omitempty"`
	// What is known of the run. Written by the operator.
	Status training.Status `json:"status,omitempty"`
}

// TFJobSpec is the spec of a TFJob in wire form.
type TFJobSpec struct {
	// What applies to the job as a whole.
	// +optional
	RunPolicy    training.RunPolicySpec `json:"runPolicy,omitempty"`
	TFJobOptions `json:",inline"`
	// The replica types by name: Chief, Evaluator, Master, PS, Worker.
	TFReplicaSpecs map[string]training.ReplicaSpec `json:"tfReplicaSpecs"`
}

// TFJobOptions are the fields that only a TFJob has.
type TFJobOptions struct {
	// When the job without a chief has succeeded: empty for worker 0, AllWorkers for all workers.
	// +optional
	// +kubebuilder:validation:Enum="";AllWorkers
	SuccessPolicy *string `json:"successPolicy,omitempty"`
	// Let workers come and go: TF_CONFIG in its sparse form, failed workers do not fail the job.
	// +optional
	EnableDynamicWorker bool `json:"enableDynamicWorker,omitempty"`
}

// tfJob is the normal form of TFJobOptions.
type tfJob struct{ Dynamic bool }

const (
	tfChief, tfEvaluator, tfMaster, tfPS, tfWorker = "Chief", "Evaluator", "Master", "PS", "Worker"

	tfAllWorkers = "AllWorkers"
	tfConfig     = "TF_CONFIG"
)

// TFJob returns the kind kubeflow.org/v1 TFJob: parameter servers, workers, at most one of chief and master, evaluators.
func TFJob() *training.Kind { return tfJobKind }

// tfJobKind is read-only: it is shared by every object of the kind.
var tfJobKind = &training.Kind{
	Group: "kubeflow.org", Version: "v1", Name: "TFJob", Plural: "tfjobs", Singular: "tfjob",
	Framework: "tensorflow", Controller: "tfjob-controller",
	ReplicaSpecsField: "tfReplicaSpecs",
	ReplicaTypes: []training.KnownReplicaType{
		{Name: tfChief, Label: "chief", Replicas: 1},
		{Name: tfEvaluator, Label: "evaluator", Replicas: 1},
		{Name: tfMaster, Label: "master", Replicas: 1},
		{Name: tfPS, Label: "ps", Replicas: 1},
		{Name: tfWorker, Label: "worker", Replicas: 1},
	},
	AnyCase:    true,
	FlatPolicy: true,
	Container:  "tensorflow",
	Port:       training.Port{Name: "tfjob-port", Number: 2222},
	Restart:    training.RestartNever,
	Own: []training.Default{
		{Path: "spec.successPolicy", Value: `""`, Means: "without a chief, the success of worker 0 is that of the job"},
		{Path: "spec.enableDynamicWorker", Value: "false"},
	},

	Wire:        reflect.TypeFor[TFJobObject](),
	Options:     func() any { return new(TFJobOptions) },
	Check:       checkTFJob,
	Lower:       lowerTFJob,
	Warnings:    warnTFJob,
	Environment: tfEnvironment,
	Variables:   rendezvousVariables("a job of more than one replica", tfConfig),
	Annotations: []training.NumberAnnotation{{Name: annotationEvaluatorGrace, Most: 86400,
		Means: "When the job has succeeded, evaluators that still run are kept for so many seconds, to evaluate the last checkpoint. Then, or when they have ended, `cleanPodPolicy` applies to them. `ttlSecondsAfterFinished` deletes them with the job, however long that is"}},
}

// annotationEvaluatorGrace is the annotation that lets evaluators run on for so many seconds when the job has succeeded.
const annotationEvaluatorGrace = "training.kubeflow.org/evaluator-grace-seconds"

// tfOptions returns the kind's own fields, empty if there are none.
func tfOptions(options any) *TFJobOptions {
	if spec, ok := options.(*TFJobOptions); ok && spec != nil {
		return spec
	}
	return &TFJobOptions{}
}

// checkTFJob checks the success policy, and that a job has at most one of chief and master.
func checkTFJob(options any, named func(string) bool) (problems, warnings []schema.Problem) {
	if policy := deref(tfOptions(options).SuccessPolicy); policy != "" && policy != tfAllWorkers {
		problems = append(problems, schema.Problem{Code: schema.InvalidValue, Path: "spec.successPolicy",
			Found: schema.Quote(policy), Want: `be "" or "AllWorkers"`, Hint: "leave it out to succeed with worker 0"})
	}
	if named(tfChief) && named(tfMaster) {
		problems = append(problems, schema.Problem{Code: schema.Conflict, Path: "spec.tfReplicaSpecs",
			Found: `both "Chief" and "Master"`, Want: "have at most one of the two", Hint: "remove `Master`"})
	}
	return problems, nil
}

// lowerTFJob sets the success replica type: Chief or Master if there is one, else Worker. A job with only parameter servers
// and evaluators has none and never succeeds by itself. A Chief or Master of 0 replicas is rejected: the job would never end.
func lowerTFJob(job *training.Job, options any) []schema.Problem {
	var problems []schema.Problem
	spec := tfOptions(options)
	job.Own = tfJob{Dynamic: spec.EnableDynamicWorker}
	if seconds := job.Annotations[annotationEvaluatorGrace]; seconds > 0 {
		job.Grace = training.Grace{ReplicaType: tfEvaluator, Duration: training.Limit{Set: true, Value: seconds}}
	}

	rule := training.SuccessFirst
	if deref(spec.SuccessPolicy) == tfAllWorkers {
		rule = training.SuccessAll
	}
	worker := job.ReplicaType(tfWorker)
	switch {
	case job.ReplicaType(tfChief) != nil:
		job.Success = training.Success{ReplicaType: tfChief, Rule: training.SuccessAll, Whole: true}
	case job.ReplicaType(tfMaster) != nil:
		job.Success = training.Success{ReplicaType: tfMaster, Rule: training.SuccessAll, Whole: true}
	case worker != nil:
		job.Success = training.Success{ReplicaType: tfWorker, Rule: rule}
	}
	if worker != nil && spec.EnableDynamicWorker {
		worker.Expendable = true
	}
	if decides := job.ReplicaType(job.Success.ReplicaType); job.Success.Whole {
		problems = append(problems, atLeastOne("spec.tfReplicaSpecs", decides, "remove `"+decides.Name+"`: then worker 0 decides")...)
	}

	if size := tfConfigSize(job); size > variableLimit {
		hint := "use fewer replicas or a shorter name, or set `enableDynamicWorker`"
		if spec.EnableDynamicWorker {
			hint = "use fewer parameter servers or a shorter name"
		}
		problems = append(problems, schema.Problem{Code: schema.TooLarge, Path: "spec.tfReplicaSpecs",
			Found: fmt.Sprintf("%d replicas, whose TF_CONFIG would be %d bytes long", job.Replicas(), size),
			Want:  variableTooLong(),
			Hint:  hint})
	}
	return problems
}

// warnTFJob warns of a job without a replica whose success is that of the job.
func warnTFJob(job *training.Job) []schema.Problem {
	if decides := job.ReplicaType(job.Success.ReplicaType); decides != nil && decides.Replicas > 0 {
		return nil
	}
	return []schema.Problem{{Code: schema.Conflict, Path: "spec.tfReplicaSpecs", Found: "no replica of `Chief`, `Master` or `Worker`",
		Hint: "the job never succeeds, whatever its replicas do; add a `Worker`, or delete the job when it is done"}}
}

// tfConfigSize returns the length of the longest TF_CONFIG=value of a job, up to a few bytes. It does not build the value,
// because the number of replicas is not checked yet. In the sparse form a replica sees at most itself and all parameter
// servers.
func tfConfigSize(job *training.Job) int {
	size := len(tfConfig) + len(`={"cluster":{},"task":{"type":"evaluator","index":00000},"environment":"cloud"}`)
	own, _ := job.Own.(tfJob)
	for i := range job.ReplicaTypes {
		rtype := &job.ReplicaTypes[i]
		replicas, digits := rtype.Replicas, digitsBelow(rtype.Replicas)
		if own.Dynamic && rtype.Name != tfPS {
			replicas, digits = min(replicas, 1), 2*len(strconv.Itoa(rtype.Replicas))
		}
		size += len(rtype.Label) + len(`"":[],`)
		entry := len(training.Host(job.Meta.Name, job.Meta.Namespace, rtype.Label, 0, job.Kind.Cluster.Domain)) - 1 + len(`":",`) + len(strconv.Itoa(int(rtype.Port)))
		size += replicas*entry + digits
	}
	return size
}

// tfEnvironment returns TF_CONFIG, unless the job has exactly one replica.
//
// Dense form: every replica sees every replica.
//
//	{"cluster":{"ps":["J-ps-0.NS.svc:2222"],"worker":[...]},"task":{"type":"ps","index":0},"environment":"cloud"}
//
// Sparse form (enableDynamicWorker): a worker sees itself and the parameter servers, and a parameter server
// sees only itself, so that no variable becomes outdated when workers are added or removed:
//
//	{"cluster":{"worker":{"3":"J-worker-3.NS.svc:2222"},"ps":["J-ps-0.NS.svc:2222"]},"task":{"type":"worker","index":3}}
func tfEnvironment(job *training.Job) func(*training.ReplicaType, int) []training.EnvVar {
	if job.Replicas() == 1 {
		return func(*training.ReplicaType, int) []training.EnvVar { return nil }
	}
	value := tfDense(job)
	if own, _ := job.Own.(tfJob); own.Dynamic {
		value = tfSparse(job)
	}
	return func(rtype *training.ReplicaType, index int) []training.EnvVar {
		return []training.EnvVar{{Name: tfConfig, Value: value(rtype, index)}}
	}
}

func tfDense(job *training.Job) func(*training.ReplicaType, int) string {
	cluster := make(map[string][]string, len(job.ReplicaTypes))
	for i := range job.ReplicaTypes {
		cluster[job.ReplicaTypes[i].Label] = tfAddresses(job, &job.ReplicaTypes[i])
	}
	shared := `{"cluster":` + string(schema.JSON(cluster))
	return func(rtype *training.ReplicaType, index int) string {
		return shared + tfTask(rtype, index) + `,"environment":"cloud"}`
	}
}

func tfSparse(job *training.Job) func(*training.ReplicaType, int) string {
	servers := "null" // no such replica type, as against a replica type without replicas
	if ps := job.ReplicaType(tfPS); ps != nil {
		servers = string(schema.JSON(tfAddresses(job, ps)))
	}
	return func(rtype *training.ReplicaType, index int) string {
		worker, ps := "{}", "[]"
		switch rtype.Name {
		case tfWorker:
			worker = string(schema.JSON(map[string]string{strconv.Itoa(index): tfAddress(job, rtype, index)}))
			ps = servers
		case tfPS:
			ps = string(schema.JSON([]string{tfAddress(job, rtype, index)}))
		}
		return `{"cluster":{"worker":` + worker + `,"ps":` + ps + `}` + tfTask(rtype, index) + `}`
	}
}

func tfTask(rtype *training.ReplicaType, index int) string {
	return `,"task":{"type":"` + rtype.Label + `","index":` + strconv.Itoa(index) + `}`
}

func tfAddresses(job *training.Job, rtype *training.ReplicaType) []string {
	addresses := make([]string, rtype.Replicas)
	for i := range addresses {
		addresses[i] = tfAddress(job, rtype, i)
	}
	return addresses
}

func tfAddress(job *training.Job, rtype *training.ReplicaType, index int) string {
	return training.Host(job.Meta.Name, job.Meta.Namespace, rtype.Label, index, job.Kind.Cluster.Domain) + ":" + strconv.Itoa(int(rtype.Port))
}
