package kinds

import (
	"reflect"
	"slices"
	"strconv"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"stoic/schema"
	"stoic/training"
)

// PaddleJobObject runs PaddlePaddle: workers alone, or masters, which are the parameter servers, and workers.
// This is its wire form. The CRD is generated from it; it is never allocated.
//
// The first two columns are those that scripts parse; the others show with -o wide.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:path=paddlejobs,singular=paddlejob,shortName=pdj,categories=training,scope=Namespaced
// +kubebuilder:subresource:status
// +kubebuilder:subresource:scale:specpath=.spec.paddleReplicaSpecs.Worker.replicas,statuspath=.status.replicaStatuses.Worker.active,selectorpath=.status.replicaStatuses.Worker.selector
// +kubebuilder:printcolumn:name=State,type=string,JSONPath=`.status.conditions[-1:].type`
// +kubebuilder:printcolumn:name=Age,type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:printcolumn:name=Reason,type=string,priority=1,JSONPath=`.status.conditions[-1:].reason`
// +kubebuilder:printcolumn:name=Master,type=integer,priority=1,JSONPath=`.status.replicaStatuses.Master.active`
// +kubebuilder:printcolumn:name=Worker,type=integer,priority=1,JSONPath=`.status.replicaStatuses.Worker.active`
// +kubebuilder:printcolumn:name=Message,type=string,priority=1,JSONPath=`.status.conditions[-1:].message`
type PaddleJobObject struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`
	// What to run.
	Spec PaddleJobSpec `json:"spec,omitempty"`
	// What is known of the run. Written by the operator.
	Status training.Status `json:"status,omitempty"`
}

// PaddleJobSpec is the spec of a PaddleJob in wire form.
type PaddleJobSpec struct {
	// What applies to the job as a whole.
	// +optional
	RunPolicy        training.RunPolicySpec `json:"runPolicy,omitempty"`
	PaddleJobOptions `json:",inline"`
	// The replica types by name: Master, Worker.
	PaddleReplicaSpecs map[string]training.ReplicaSpec `json:"paddleReplicaSpecs"`
}

// PaddleJobOptions are the fields that only a PaddleJob has.
type PaddleJobOptions struct {
	// Let the number of workers change while the job runs.
	// +optional
	ElasticPolicy *PaddleElasticPolicySpec `json:"elasticPolicy,omitempty"`
}

// PaddleElasticPolicySpec is spec.elasticPolicy of a PaddleJob in wire form.
type PaddleElasticPolicySpec struct {
	// Fewest workers that an autoscaler leaves. Default: maxReplicas, else the number of workers.
	// +optional
	// +kubebuilder:validation:Minimum=0
	MinReplicas *int32 `json:"minReplicas,omitempty"`
	// Most workers that an autoscaler asks for. Default: minReplicas, else the number of workers.
	// +optional
	// +kubebuilder:validation:Minimum=0
	MaxReplicas *int32 `json:"maxReplicas,omitempty"`
	// Has no effect; use runPolicy.backoffLimit.
	// +optional
	// +kubebuilder:validation:Minimum=0
	MaxRestarts *int32 `json:"maxRestarts,omitempty"`
	// What a horizontal pod autoscaler shall look at to choose the number of workers.
	// +optional
	Metrics []autoscalingv2.MetricSpec `json:"metrics,omitempty"`
}

// PaddleJob returns the kind kubeflow.org/v1 PaddleJob: workers alone (collective), or masters and workers (parameter servers).
func PaddleJob() *training.Kind { return paddleJobKind }

// paddleJobKind is read-only: it is shared by every object of the kind.
var paddleJobKind = &training.Kind{
	Group: "kubeflow.org", Version: "v1", Name: "PaddleJob", Plural: "paddlejobs", Singular: "paddlejob",
	Framework: "paddle", Controller: "paddlejob-controller",
	ReplicaSpecsField: paddleReplicaSpecs,
	ReplicaTypes: []training.KnownReplicaType{
		{Name: master, Label: "master", Replicas: 1},
		{Name: worker, Label: "worker", Replicas: 1},
	},
	Container: "paddle",
	Port:      training.Port{Name: "master", Number: 36543},
	Restart:   training.RestartOnFailure,

	Wire: reflect.TypeFor[PaddleJobObject](),
	Own: []training.Default{
		{Path: "spec.elasticPolicy", Means: "the number of workers is fixed"},
		{Path: "spec.elasticPolicy.minReplicas", Means: "`maxReplicas`, else the number of workers"},
		{Path: "spec.elasticPolicy.maxReplicas", Means: "`minReplicas`, else the number of workers"},
		{Path: "spec.elasticPolicy.maxRestarts", Means: "what `runPolicy.backoffLimit` says"},
		{Path: "spec.elasticPolicy.metrics", Means: "no autoscaler"},
	},

	DependentKinds: []schema.Resource{training.Autoscalers()},
	Dependents:     paddleAutoscaler,
	Verbatim:       []string{"elasticPolicy", "metrics"},

	Options:     func() any { return new(PaddleJobOptions) },
	Check:       checkPaddleJob,
	Bound:       paddleBound,
	Lower:       lowerPaddleJob,
	Environment: paddleEnvironment,
	Variables: slices.Concat(
		[]training.Variable{unbufferedVariable()},
		rendezvousVariables("", "PADDLE_JOB_ID", "PADDLE_NNODES", "PADDLE_MASTER"),
		rendezvousVariables("the replica that the others find by `PADDLE_MASTER`", "POD_IP_DUMMY"),
		rendezvousVariables("a `Master`", "PADDLE_SERVER_NUM"),
		rendezvousVariables("a `Worker` of a job with a `Master`", "PADDLE_TRAINER_NUM"),
	),
	EnvEverywhere: true,
	Sentences:     sentences,
	MastersOnly:   true,
}

const paddleReplicaSpecs = "paddleReplicaSpecs"

// paddleJob is the normal form of PaddleJobOptions: the bounds of an elastic job, with the defaults filled in.
type paddleJob struct {
	elastic   bool
	low, high int32
}

func paddlePolicy(options any) *PaddleElasticPolicySpec {
	if spec, ok := options.(*PaddleJobOptions); ok && spec != nil {
		return spec.ElasticPolicy
	}
	return nil
}

// elasticity returns the common fields of the policy; without a policy, none.
func (p *PaddleElasticPolicySpec) elasticity() elasticity {
	if p == nil {
		return elasticity{}
	}
	return elasticity{low: p.MinReplicas, high: p.MaxReplicas, restarts: p.MaxRestarts}
}

func paddleBound(options any) *training.Bound { return paddlePolicy(options).elasticity().bound() }

// checkPaddleJob checks the elastic policy. No operator has ever read its maxRestarts.
func checkPaddleJob(options any, named func(string) bool) (problems, warnings []schema.Problem) {
	policy := paddlePolicy(options)
	if policy == nil {
		return nil, nil
	}
	if policy.MaxRestarts != nil {
		warnings = []schema.Problem{{Code: schema.MisplacedField, Path: "spec.elasticPolicy.maxRestarts",
			Found: "a field without effect", Hint: "`runPolicy.backoffLimit` limits restarts"}}
	}
	return policy.elasticity().check(paddleReplicaSpecs, named), warnings
}

// lowerPaddleJob sets the success replica type: Master if there is one, else Worker. A job with a Master of 0 replicas is
// rejected: under training-operator it would succeed before it starts.
func lowerPaddleJob(job *training.Job, options any) []schema.Problem {
	if policy := paddlePolicy(options); policy != nil {
		low, high := policy.elasticity().bounds(workersOf(job))
		job.Own = paddleJob{elastic: true, low: low, high: high}
	}
	problems := sizes(job, func(string) string { return "spec." + paddleReplicaSpecs })
	switch masters := job.ReplicaType(master); {
	case masters != nil:
		job.Success = training.Success{ReplicaType: master, Rule: training.SuccessAll, Whole: true}
		problems = append(problems, atLeastOne("spec."+paddleReplicaSpecs, masters, "remove `Master` for a job of workers alone")...)
	case job.ReplicaType(worker) != nil:
		job.Success = training.Success{ReplicaType: worker, Rule: training.SuccessAll}
	}
	return problems
}

func paddleAutoscaler(job *training.Job, _ training.RunningReplicas) []training.Dependent {
	own, _ := job.Own.(paddleJob)
	if !own.elastic {
		return nil
	}
	return autoscaler(job, own.low, own.high)
}

// paddleEnvironment returns the variables that paddle.distributed.launch reads, in the order of training-operator. The launch
// module assigns the ranks itself.
//
//	                     with masters                   without
//	PADDLE_MASTER        master 0, by its own address   worker 0, by its own address
//	                     in itself, else by its name    in itself, else by its name
//	PADDLE_SERVER_NUM    1 in the masters               -
//	PADDLE_TRAINER_NUM   1 in the workers               -
func paddleEnvironment(job *training.Job) func(*training.ReplicaType, int) []training.EnvVar {
	shared := []training.EnvVar{unbuffered(), {Name: "PADDLE_JOB_ID", Value: job.Meta.Name},
		{Name: "PADDLE_NNODES", Value: strconv.Itoa(job.Replicas())}}
	servers := job.ReplicaType(master)
	first := servers
	if first == nil {
		first = job.ReplicaType(worker)
	}
	return func(rtype *training.ReplicaType, index int) []training.EnvVar {
		variables := append(make([]training.EnvVar, 0, 6), shared...)
		port := ":" + strconv.Itoa(int(first.Port))
		if rtype.Name == first.Name && index == 0 {
			variables = append(variables, training.EnvVar{Name: "POD_IP_DUMMY", Field: "status.podIP"},
				training.EnvVar{Name: "PADDLE_MASTER", Value: "$(POD_IP_DUMMY)" + port})
		} else {
			variables = append(variables, training.EnvVar{Name: "PADDLE_MASTER", Value: training.ChildName(job.Meta.Name, first.Label, 0) + port})
		}
		switch {
		case servers == nil:
			return variables
		case rtype.Name == master:
			return append(variables, training.EnvVar{Name: "PADDLE_SERVER_NUM", Value: "1"})
		}
		return append(variables, training.EnvVar{Name: "PADDLE_TRAINER_NUM", Value: "1"})
	}
}
