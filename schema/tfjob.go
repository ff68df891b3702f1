package schema

import (
	"fmt"
	"strconv"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TFJobObject runs TensorFlow: parameter servers, workers, evaluators, at most one of chief and master.
// This is its wire form. The CRD is generated from it; it is never allocated.
//
// The first two columns are those that scripts parse; the others show with -o wide.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:path=tfjobs,singular=tfjob,shortName=tfj,categories=training,scope=Namespaced
// +kubebuilder:subresource:status
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
	Status Status `json:"status,omitempty"`
}

// TFJobSpec is the spec of a TFJob in wire form.
type TFJobSpec struct {
	// What applies to the job as a whole.
	// +optional
	RunPolicy    RunPolicySpec `json:"runPolicy,omitempty"`
	TFJobOptions `json:",inline"`
	// The roles by name: Chief, Evaluator, Master, PS, Worker.
	TFReplicaSpecs map[string]ReplicaSpec `json:"tfReplicaSpecs"`
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
	// tfConfigLimit is the longest NAME=value that Linux gives to a process (MAX_ARG_STRLEN, 32 pages,
	// with its closing NUL). A longer one keeps every container from starting.
	tfConfigLimit = 131072 - 1
)

// TFJob is kubeflow.org/v1 TFJob: parameter servers, workers, at most one of chief and master, evaluators.
func TFJob() *Kind { return tfJobKind }

// tfJobKind is read-only: it is shared by every object of the kind.
var tfJobKind = &Kind{
	Group: "kubeflow.org", Version: "v1", Name: "TFJob", Plural: "tfjobs", Singular: "tfjob",
	Framework: "tensorflow", Controller: "tfjob-controller",
	RolesField: "tfReplicaSpecs",
	Roles: []RoleKind{
		{Name: tfChief, Label: "chief", Replicas: 1},
		{Name: tfEvaluator, Label: "evaluator", Replicas: 1},
		{Name: tfMaster, Label: "master", Replicas: 1},
		{Name: tfPS, Label: "ps", Replicas: 1},
		{Name: tfWorker, Label: "worker", Replicas: 1},
	},
	Container: "tensorflow",
	Port:      Port{Name: "tfjob-port", Number: 2222},
	Restart:   RestartNever,
	Own: []Default{
		{Path: "spec.successPolicy", Value: `""`, Means: "without a chief, the success of worker 0 is that of the job"},
		{Path: "spec.enableDynamicWorker", Value: "false"},
	},

	Options:     func() any { return new(TFJobOptions) },
	Check:       checkTFJob,
	Lower:       lowerTFJob,
	Environment: tfEnvironment,
}

// tfOptions are the kind's own fields, or none of them.
func tfOptions(options any) *TFJobOptions {
	if spec, ok := options.(*TFJobOptions); ok && spec != nil {
		return spec
	}
	return &TFJobOptions{}
}

// checkTFJob: a job has at most one of chief and master.
func checkTFJob(options any, named func(string) bool) (problems, warnings []Problem) {
	if policy := deref(tfOptions(options).SuccessPolicy); policy != "" && policy != tfAllWorkers {
		problems = append(problems, Problem{Code: InvalidValue, Path: "spec.successPolicy",
			Found: Quote(policy), Want: `be "" or "AllWorkers"`, Hint: "leave it out to succeed with worker 0"})
	}
	if named(tfChief) && named(tfMaster) {
		problems = append(problems, Problem{Code: Conflict, Path: "spec.tfReplicaSpecs",
			Found: `both "Chief" and "Master"`, Want: "have at most one of the two", Hint: "remove `Master`"})
	}
	return problems, nil
}

// lowerTFJob: chief or master lead if there is one, else the workers. A job of parameter servers and
// evaluators alone has no lead and never succeeds by itself.
func lowerTFJob(job *Job, options any) []Problem {
	var problems []Problem
	spec := tfOptions(options)
	job.Own = tfJob{Dynamic: spec.EnableDynamicWorker}

	rule := LeadFirst
	if deref(spec.SuccessPolicy) == tfAllWorkers {
		rule = LeadAll
	}
	worker := job.Role(tfWorker)
	switch {
	case job.Role(tfChief) != nil:
		job.Lead = Lead{Role: tfChief, Rule: LeadAll, Whole: true}
	case job.Role(tfMaster) != nil:
		job.Lead = Lead{Role: tfMaster, Rule: LeadAll, Whole: true}
	case worker != nil:
		job.Lead = Lead{Role: tfWorker, Rule: rule}
	}
	if worker != nil && spec.EnableDynamicWorker {
		worker.Expendable = true
	}

	if size := tfConfigSize(job); size > tfConfigLimit {
		hint := "use fewer replicas or a shorter name, or set `enableDynamicWorker`"
		if spec.EnableDynamicWorker {
			hint = "use fewer parameter servers or a shorter name"
		}
		problems = append(problems, Problem{Code: TooLarge, Path: "spec.tfReplicaSpecs",
			Found: fmt.Sprintf("%d replicas, whose TF_CONFIG would be %d bytes long", job.Replicas(), size),
			Want:  fmt.Sprintf("stay within %d bytes, the longest environment variable that Linux passes to a process", tfConfigLimit),
			Hint:  hint})
	}
	return problems
}

// tfConfigSize is the length of the longest TF_CONFIG=value of a job, up to a few bytes, without building it: the
// number of replicas is the author's and not yet known to be sensible. In the sparse form no replica sees more than one
// of its own and all parameter servers.
func tfConfigSize(job *Job) int {
	size := len(tfConfig) + len(`={"cluster":{},"task":{"type":"evaluator","index":00000},"environment":"cloud"}`)
	own, _ := job.Own.(tfJob)
	for i := range job.Roles {
		role := &job.Roles[i]
		replicas, digits := role.Replicas, digitsBelow(role.Replicas)
		if own.Dynamic && role.Name != tfPS {
			replicas, digits = min(replicas, 1), 2*len(strconv.Itoa(role.Replicas))
		}
		size += len(role.Label) + len(`"":[],`)
		entry := len(Host(job.Meta.Name, job.Meta.Namespace, role.Label, 0, job.Kind.Cluster.Domain)) - 1 + len(`":",`) + len(strconv.Itoa(int(role.Port)))
		size += replicas*entry + digits
	}
	return size
}

// digitsBelow is how many digits it takes to write 0, 1, ..., n-1.
func digitsBelow(n int) int {
	sum := 0
	for width, from, to := 1, 0, 10; from < n; width, from, to = width+1, to, to*10 {
		sum += width * (min(n, to) - from)
	}
	return sum
}

// tfEnvironment sets TF_CONFIG if the job is distributed, that is, if it has other than one replica.
//
// Dense form: every replica sees every replica.
//
//	{"cluster":{"ps":["J-ps-0.NS.svc:2222"],"worker":[...]},"task":{"type":"ps","index":0},"environment":"cloud"}
//
// Sparse form (enableDynamicWorker), in which a worker sees itself and the parameter servers, and a
// parameter server itself, so that workers can come and go without anyone's variable going stale:
//
//	{"cluster":{"worker":{"3":"J-worker-3.NS.svc:2222"},"ps":["J-ps-0.NS.svc:2222"]},"task":{"type":"worker","index":3}}
func tfEnvironment(job *Job) func(*Role, int) []EnvVar {
	if job.Replicas() == 1 {
		return func(*Role, int) []EnvVar { return nil }
	}
	value := tfDense(job)
	if own, _ := job.Own.(tfJob); own.Dynamic {
		value = tfSparse(job)
	}
	return func(role *Role, index int) []EnvVar {
		return []EnvVar{{Name: tfConfig, Value: value(role, index)}}
	}
}

func tfDense(job *Job) func(*Role, int) string {
	cluster := make(map[string][]string, len(job.Roles))
	for i := range job.Roles {
		cluster[job.Roles[i].Label] = tfAddresses(job, &job.Roles[i])
	}
	shared := `{"cluster":` + string(JSON(cluster))
	return func(role *Role, index int) string {
		return shared + tfTask(role, index) + `,"environment":"cloud"}`
	}
}

func tfSparse(job *Job) func(*Role, int) string {
	servers := "null" // no such role, as against a role without replicas
	if ps := job.Role(tfPS); ps != nil {
		servers = string(JSON(tfAddresses(job, ps)))
	}
	return func(role *Role, index int) string {
		worker, ps := "{}", "[]"
		switch role.Name {
		case tfWorker:
			worker = string(JSON(map[string]string{strconv.Itoa(index): tfAddress(job, role, index)}))
			ps = servers
		case tfPS:
			ps = string(JSON([]string{tfAddress(job, role, index)}))
		}
		return `{"cluster":{"worker":` + worker + `,"ps":` + ps + `}` + tfTask(role, index) + `}`
	}
}

func tfTask(role *Role, index int) string {
	return `,"task":{"type":"` + role.Label + `","index":` + strconv.Itoa(index) + `}`
}

func tfAddresses(job *Job, role *Role) []string {
	addresses := make([]string, role.Replicas)
	for i := range addresses {
		addresses[i] = tfAddress(job, role, i)
	}
	return addresses
}

func tfAddress(job *Job, role *Role, index int) string {
	return Host(job.Meta.Name, job.Meta.Namespace, role.Label, index, job.Kind.Cluster.Domain) + ":" + strconv.Itoa(int(role.Port))
}
