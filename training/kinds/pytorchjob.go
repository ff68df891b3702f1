package kinds

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"stoic/schema"
	"stoic/training"
)

// PyTorchJobObject runs PyTorch: one master and workers, or workers alone, as torchrun starts them.
// This is its wire form. The CRD is generated from it; it is never allocated.
//
// The first two columns are those that scripts parse; the others show with -o wide.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:path=pytorchjobs,singular=pytorchjob,shortName=pyj,categories=training,scope=Namespaced
// +kubebuilder:subresource:status
// +kubebuilder:subresource:scale:specpath=.spec.pytorchReplicaSpecs.Worker.replicas,statuspath=.status.replicaStatuses.Worker.active,selectorpath=.status.replicaStatuses.Worker.selector
// +kubebuilder:printcolumn:name=State,type=string,JSONPath=`.status.conditions[-1:].type`
// +kubebuilder:printcolumn:name=Age,type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:printcolumn:name=Reason,type=string,priority=1,JSONPath=`.status.conditions[-1:].reason`
// +kubebuilder:printcolumn:name=Master,type=integer,priority=1,JSONPath=`.status.replicaStatuses.Master.active`
// +kubebuilder:printcolumn:name=Worker,type=integer,priority=1,JSONPath=`.status.replicaStatuses.Worker.active`
// +kubebuilder:printcolumn:name=Message,type=string,priority=1,JSONPath=`.status.conditions[-1:].message`
type PyTorchJobObject struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`
	// What to run.
	Spec PyTorchJobSpec `json:"spec,omitempty"`
	// What is known of the run. Written by the operator.
	Status training.Status `json:"status,omitempty"`
}

// PyTorchJobSpec is the spec of a PyTorchJob in wire form.
type PyTorchJobSpec struct {
	// What applies to the job as a whole.
	// +optional
	RunPolicy         training.RunPolicySpec `json:"runPolicy,omitempty"`
	PyTorchJobOptions `json:",inline"`
	// The replica types by name: Master, Worker.
	PyTorchReplicaSpecs map[string]training.ReplicaSpec `json:"pytorchReplicaSpecs"`
}

// PyTorchJobOptions are the fields that only a PyTorchJob has.
type PyTorchJobOptions struct {
	// Let the number of workers change while the job runs, as torchrun's elastic launch does.
	// +optional
	ElasticPolicy *ElasticPolicySpec `json:"elasticPolicy,omitempty"`
	// Processes that torchrun starts in each pod: a number, auto, cpu or gpu. Default auto.
	// +optional
	NprocPerNode *string `json:"nprocPerNode,omitempty"`
}

// ElasticPolicySpec is spec.elasticPolicy in wire form.
type ElasticPolicySpec struct {
	// Fewest workers that the job continues with. Default: maxReplicas, else the number of workers.
	// +optional
	// +kubebuilder:validation:Minimum=0
	MinReplicas *int32 `json:"minReplicas,omitempty"`
	// Most workers that the job grows to. Default: minReplicas, else the number of workers.
	// +optional
	// +kubebuilder:validation:Minimum=0
	MaxReplicas *int32 `json:"maxReplicas,omitempty"`
	// How workers find each other: c10d, etcd, etcd-v2 or static. Default c10d.
	// +optional
	RDZVBackend *string `json:"rdzvBackend,omitempty"`
	// Port of the meeting point. Default: the port pytorchjob-port of the workers.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=65535
	RDZVPort *int32 `json:"rdzvPort,omitempty"`
	// Host of the meeting point. Default: worker 0.
	// +optional
	RDZVHost *string `json:"rdzvHost,omitempty"`
	// Name of the meeting.
	// +optional
	RDZVID *string `json:"rdzvId,omitempty"`
	// Further settings of the meeting point.
	// +optional
	RDZVConf []RDZVConf `json:"rdzvConf,omitempty"`
	// Start a meeting point in the pod itself.
	// +optional
	Standalone *bool `json:"standalone,omitempty"`
	// Processes in each pod; use spec.nprocPerNode instead.
	// +optional
	// +kubebuilder:validation:Minimum=1
	NProcPerNode *int32 `json:"nProcPerNode,omitempty"`
	// How often torchrun restarts the processes of a group.
	// +optional
	// +kubebuilder:validation:Minimum=0
	MaxRestarts *int32 `json:"maxRestarts,omitempty"`
	// What a horizontal pod autoscaler shall look at to choose the number of workers.
	// +optional
	Metrics []autoscalingv2.MetricSpec `json:"metrics,omitempty"`
}

// RDZVConf is one setting of a meeting point.
type RDZVConf struct {
	// Name of the setting.
	// +optional
	Key string `json:"key,omitempty"`
	// Value of the setting.
	// +optional
	Value string `json:"value,omitempty"`
}

const (
	pyReplicaSpecs = "pytorchReplicaSpecs"
	pyAuto         = "auto"
	pyBackend      = "c10d"
)

// PyTorchJob returns the kind kubeflow.org/v1 PyTorchJob: a master and workers, or workers alone.
func PyTorchJob() *training.Kind { return pyTorchJobKind }

// pyTorchJobKind is read-only: it is shared by every object of the kind.
var pyTorchJobKind = &training.Kind{
	Group: "kubeflow.org", Version: "v1", Name: "PyTorchJob", Plural: "pytorchjobs", Singular: "pytorchjob",
	Framework: "pytorch", Controller: "pytorchjob-controller",
	ReplicaSpecsField: pyReplicaSpecs,
	ReplicaTypes: []training.KnownReplicaType{
		{Name: master, Label: "master", Replicas: 1, Only: 1},
		{Name: worker, Label: "worker", Replicas: 1},
	},
	FlatPolicy: true,
	Container:  "pytorch",
	Port:       training.Port{Name: "pytorchjob-port", Number: 23456},
	Restart:    training.RestartOnFailure,

	Own: []training.Default{
		{Path: "spec.nprocPerNode", Value: `"auto"`, Means: "unless `elasticPolicy.nProcPerNode` says it"},
		{Path: "spec.elasticPolicy", Means: "the number of workers is fixed"},
		{Path: "spec.elasticPolicy.minReplicas", Means: "`maxReplicas`, else the number of workers"},
		{Path: "spec.elasticPolicy.maxReplicas", Means: "`minReplicas`, else the number of workers"},
		{Path: "spec.elasticPolicy.rdzvBackend", Value: `"c10d"`},
		{Path: "spec.elasticPolicy.rdzvPort", Means: "the port pytorchjob-port of the workers"},
		{Path: "spec.elasticPolicy.rdzvHost", Means: "worker 0"},
		{Path: "spec.elasticPolicy.rdzvId", Means: "none; torchrun chooses"},
		{Path: "spec.elasticPolicy.rdzvConf", Means: "none"},
		{Path: "spec.elasticPolicy.rdzvConf.key", Value: `""`, Means: "which torchrun refuses"},
		{Path: "spec.elasticPolicy.rdzvConf.value", Value: `""`, Means: "which torchrun refuses"},
		{Path: "spec.elasticPolicy.standalone", Value: "false"},
		{Path: "spec.elasticPolicy.nProcPerNode", Means: "what `spec.nprocPerNode` says"},
		{Path: "spec.elasticPolicy.maxRestarts", Means: "none; torchrun chooses"},
		{Path: "spec.elasticPolicy.metrics", Means: "no autoscaler"},
	},

	DependentKinds: []schema.Resource{training.Autoscalers()},
	Dependents:     pyAutoscaler,
	Verbatim:       []string{"elasticPolicy", "metrics"},

	Wire:          reflect.TypeFor[PyTorchJobObject](),
	Options:       func() any { return new(PyTorchJobOptions) },
	Check:         checkPyTorchJob,
	Bound:         pyBound,
	Lower:         lowerPyTorchJob,
	Warnings:      warnPyTorchJob,
	Environment:   pyEnvironment,
	Variables:     pyVariables(),
	EnvEverywhere: true,
	Init:          pyInitContainers,
	Sentences:     sentences,
}

// pyTorchJob is the normal form of PyTorchJobOptions.
type pyTorchJob struct {
	processes string             // for torchrun, in each pod; empty if the elastic policy says it
	elastic   *ElasticPolicySpec // with the defaults filled in: bounds, backend, host and port are there
	hasHost   bool               // the user has set the host
}

// elasticity returns the common fields of the policy; without a policy, none.
func (p *ElasticPolicySpec) elasticity() elasticity {
	if p == nil {
		return elasticity{}
	}
	return elasticity{low: p.MinReplicas, high: p.MaxReplicas, restarts: p.MaxRestarts}
}

func pyOptions(options any) *PyTorchJobOptions {
	if spec, ok := options.(*PyTorchJobOptions); ok && spec != nil {
		return spec
	}
	return &PyTorchJobOptions{}
}

func pyBound(options any) *training.Bound {
	return pyOptions(options).ElasticPolicy.elasticity().bound()
}

// checkPyTorchJob checks the elastic policy and the number of processes, which may only be set in one place.
func checkPyTorchJob(options any, named func(string) bool) (problems, warnings []schema.Problem) {
	spec := pyOptions(options)
	if spec.NprocPerNode != nil {
		problems = checkProcesses(*spec.NprocPerNode)
	}
	elastic := spec.ElasticPolicy
	if elastic == nil {
		return problems, nil
	}
	problems = append(problems, elastic.elasticity().check(pyReplicaSpecs, named,
		span{"rdzvPort", elastic.RDZVPort, 1, math.MaxUint16}, span{"nProcPerNode", elastic.NProcPerNode, 1, math.MaxInt32})...)
	if elastic.RDZVBackend != nil {
		warnings = checkBackend(*elastic.RDZVBackend)
	}
	if elastic.NProcPerNode != nil {
		if spec.NprocPerNode != nil {
			problems = append(problems, schema.Problem{Code: schema.Conflict, Path: "spec.elasticPolicy.nProcPerNode",
				Found: "it beside `spec.nprocPerNode`", Want: "be the only one of the two", Hint: "remove it"})
		}
		warnings = append(warnings, schema.Problem{Code: schema.MisplacedField, Path: "spec.elasticPolicy.nProcPerNode",
			Found: "a field that is deprecated", Hint: "use `spec.nprocPerNode`"})
	}
	return problems, warnings
}

// checkProcesses checks a value for torchrun's --nproc-per-node. torchrun fails with any value that is not accepted here.
func checkProcesses(written string) []schema.Problem {
	words := []string{pyAuto, "cpu", "gpu"}
	n, err := strconv.ParseInt(written, 10, 32)
	switch {
	case err == nil && n > 0, slices.Contains(words, written):
		return nil
	case err == nil, errors.Is(err, strconv.ErrRange):
		return []schema.Problem{{Code: schema.OutOfRange, Path: "spec.nprocPerNode", Found: schema.Quote(written),
			Want: fmt.Sprintf("be from 1 to %d", math.MaxInt32), Hint: `leave it out for "auto"`}}
	}
	return []schema.Problem{{Code: schema.InvalidValue, Path: "spec.nprocPerNode", Found: schema.Quote(written),
		Want: `be "auto", "cpu", "gpu" or a positive number`, Hint: schema.DidYouMean(written, words, `leave it out for "auto"`)}}
}

// checkBackend warns of a rendezvous backend that is not one of torchrun's own. A plug-in may bring it.
func checkBackend(backend string) []schema.Problem {
	own := []string{pyBackend, "etcd", "etcd-v2", "static"}
	if slices.Contains(own, backend) {
		return nil
	}
	return []schema.Problem{{Code: schema.InvalidValue, Path: "spec.elasticPolicy.rdzvBackend",
		Found: schema.Quote(backend) + ", which torchrun does not have without a plug-in",
		Hint:  schema.DidYouMean(backend, own, `torchrun itself has "c10d", "etcd", "etcd-v2" and "static"`)}}
}

// lowerPyTorchJob sets the success rule: the success replica type is Master if there is one, else Worker. An elastic job
// without a master succeeds as soon as one worker does.
func lowerPyTorchJob(job *training.Job, options any) []schema.Problem {
	spec := pyOptions(options)
	own := pyTorchJob{processes: pyAuto, elastic: spec.ElasticPolicy}
	if spec.NprocPerNode != nil {
		own.processes = *spec.NprocPerNode
	} else if own.elastic != nil && own.elastic.NProcPerNode != nil {
		own.processes = ""
	}
	if own.elastic != nil {
		own.hasHost = own.elastic.RDZVHost != nil
		own.elastic = lowerElastic(job, *own.elastic)
	}
	job.Own = own
	problems := sizes(job, pyField)

	switch {
	case job.ReplicaType(master) != nil:
		job.Success = training.Success{ReplicaType: master, Rule: training.SuccessAll, Whole: true}
	case own.elastic != nil:
		job.Success = training.Success{ReplicaType: worker, Rule: training.SuccessAny}
	case job.ReplicaType(worker) != nil:
		job.Success = training.Success{ReplicaType: worker, Rule: training.SuccessAll}
	}
	return problems
}

// warnPyTorchJob warns of jobs whose replicas never find each other.
func warnPyTorchJob(job *training.Job) []schema.Problem {
	own, _ := job.Own.(pyTorchJob)
	if own.elastic == nil {
		return warnWithoutRendezvous(job)
	}
	const policy = "spec.elasticPolicy."
	var warnings []schema.Problem
	warn := func(field, found, hint string) {
		warnings = append(warnings, schema.Problem{Code: schema.Conflict, Path: policy + field, Found: found, Hint: hint})
	}
	replicas := job.Replicas()
	isAutoscaled := job.Verbatim != nil
	if least := int(deref(own.elastic.MinReplicas)); least > replicas && !isAutoscaled {
		warn("minReplicas", fmt.Sprintf("number %d, above the number of replicas, %d", least, replicas),
			"torchrun waits until that many have started; add workers or lower it")
	}
	if most := int(deref(own.elastic.MaxReplicas)); most < replicas && !isAutoscaled {
		warn("maxReplicas", fmt.Sprintf("number %d, below the number of replicas, %d", most, replicas),
			"torchrun takes no more than that many, and the others wait; remove workers or raise it")
	}
	if backend := deref(own.elastic.RDZVBackend); (backend == "etcd" || backend == "etcd-v2") && !own.hasHost {
		warn("rdzvHost", "nothing, with `rdzvBackend` "+schema.Quote(backend), "worker 0 is asked, which is no etcd; set the host of an etcd")
	}
	if deref(own.elastic.Standalone) && replicas > 1 {
		warn("standalone", fmt.Sprintf("true, with %d replicas", replicas), "each replica trains by itself; remove it to train together")
	}
	return warnings
}

// warnWithoutRendezvous warns of a job of workers that start torchrun and get no address to meet at.
func warnWithoutRendezvous(job *training.Job) []schema.Problem {
	workers := job.ReplicaType(worker)
	if job.ReplicaType(master) != nil || workers == nil || workers.Replicas < 2 {
		return nil
	}
	starts := mentionsAny(workers.Template, "torchrun", "torch.distributed")
	meets := mentionsAny(workers.Template, "rdzv", "RDZV", "MASTER_ADDR", "master_addr", "master-addr")
	if !starts || meets {
		return nil
	}
	return []schema.Problem{{Code: schema.Conflict, Path: "spec." + pyReplicaSpecs, Found: fmt.Sprintf("%d workers without `Master` and without `elasticPolicy`", workers.Replicas),
		Hint: "torchrun waits in each of them for the others, as none gets an address; add a `Master`, or `elasticPolicy`"}}
}

// mentionsAny reports whether a text occurs in a template, wherever it is.
func mentionsAny(template []byte, texts ...string) bool {
	return slices.ContainsFunc(texts, func(text string) bool { return bytes.Contains(template, []byte(text)) })
}

// lowerElastic returns a copy of the policy with the defaults filled in.
func lowerElastic(job *training.Job, policy ElasticPolicySpec) *ElasticPolicySpec {
	port := job.Kind.Port.Number
	if workers := job.ReplicaType(worker); workers != nil {
		port = workers.Port
	}
	low, high := policy.elasticity().bounds(workersOf(job))
	policy.MinReplicas, policy.MaxReplicas = &low, &high
	if workers := job.ReplicaType(worker); workers != nil {
		workers.Minimum = min(max(int(low), 1), workers.Replicas)
	}
	if policy.RDZVHost == nil {
		host := training.ChildName(job.Meta.Name, job.Kind.ReplicaType(worker).Label, 0)
		policy.RDZVHost = &host
	}
	if policy.RDZVPort == nil {
		policy.RDZVPort = &port
	}
	if policy.RDZVBackend == nil {
		backend := pyBackend
		policy.RDZVBackend = &backend
	}
	if !deref(policy.Standalone) {
		policy.Standalone = nil
	}
	return &policy
}

func pyAutoscaler(job *training.Job, _ training.RunningReplicas) []training.Dependent {
	own, _ := job.Own.(pyTorchJob)
	if own.elastic == nil {
		return nil
	}
	return autoscaler(job, *own.elastic.MinReplicas, *own.elastic.MaxReplicas)
}
