package training

import (
	"cmp"
	"encoding/json"
	"reflect"
	"slices"
	"strings"

	"stoic/schema"
)

// Kind holds everything in which one custom resource differs from the others. It is a value, not an
// interface: it can be printed, compared and kept in a golden file, and a rejected object needs no
// code of its own. A new kind is one file with one Kind, and one line in kinds.All.
type Kind struct {
	Group, Version, Name string // "kubeflow.org", "v1", "TFJob"
	Plural, Singular     string // "tfjobs", "tfjob"

	// Framework is the value of the framework label of the metrics ("tensorflow").
	Framework string
	// Controller is the value of the operator-name label of children ("tfjob-controller").
	Controller string

	// ReplicaSpecsField is the field of spec that maps replica type names to replica specs ("tfReplicaSpecs").
	ReplicaSpecsField string
	// ReplicaTypes lists the known replica types, in the order in which they are counted, created and judged.
	ReplicaTypes []KnownReplicaType
	// AnyCase: users may write the names of replica types in any case. Other programs look for the exact names, so it is
	// only set where the users of a kind rely on it.
	AnyCase bool
	// FlatPolicy: the kind's first v1 had fields of the run policy directly in the spec. They count if spec.runPolicy lacks them.
	// They only reach the operator under CRDs that declare them, such as Arena's; the CRDs of this project do not.
	FlatPolicy bool
	// Container names the container that trains ("tensorflow"). Its exit code counts as the exit code of the replica.
	Container string
	// FirstContainer: the first container of a pod gets the environment and all other additions, whatever its name. It
	// also determines the exit code of the replica if no container has the name in Container.
	FirstContainer bool
	// Port is added to the training container if it has no port of this name, nor a TCP port of this number. Without a name, no
	// port is added.
	Port Port
	// Restart is the default restart policy of a replica type.
	Restart RestartPolicy

	// RestartPolicies are the restart policies that its replica types may have; nil: all.
	RestartPolicies []RestartPolicy
	// ManagedBy is the value of spec.runPolicy.managedBy that names this operator; "" is ManagedByUs.
	ManagedBy string

	// Wire is the type of its objects in wire form. The CRD and the reference tables are generated from it.
	Wire reflect.Type
	// Own holds the defaults of the kind's own fields; see Defaults.
	Own []Default

	// Options returns a pointer to a zero value of the struct that holds the fields of spec that only this kind has, in
	// wire form: all but runPolicy and ReplicaSpecsField. The decoder fills it.
	Options func() any
	// Check, if any, returns problems of and warnings about the kind's own fields and the choice of replica types, whatever
	// else is wrong with the object. options is the result of Options, filled as far as possible; named reports whether the
	// spec contains a replica type.
	Check func(options any, named func(rtype string) bool) (problems, warnings []schema.Problem)
	// Bound, if any, returns the upper bound for scaling a replica type, or nil if the spec sets none. options may hold any
	// values that the decoder accepts.
	Bound func(options any) *Bound
	// Lower completes a job whose common part is in normal form: it reads options, sets Job.Success and the other fields that
	// depend on options, and returns problems of the job as a whole. It accepts any input that the decoder accepts, even if
	// Check reports problems.
	Lower func(job *Job, options any) []schema.Problem
	// Warnings, if any, returns warnings about an accepted job: what can never start, or never end, although no field by itself is wrong.
	Warnings func(job *Job) []schema.Problem
	// Environment returns a function that computes the variables of one replica. The outer function builds once what
	// all replicas share.
	Environment func(job *Job) func(rtype *ReplicaType, index int) []EnvVar
	// Variables documents all variables that Environment may return.
	Variables []Variable
	// EnvEverywhere puts the environment into every container, not only into the training container.
	EnvEverywhere bool
	// Init returns the init containers, as JSON, that are appended to those of the template; nil: none.
	Init func(job *Job, rtype *ReplicaType) []json.RawMessage
	// Pod returns further additions to the pods of a replica type; nil: none.
	Pod func(job *Job, rtype *ReplicaType) PodAdditions
	// Labels returns the operator's labels on the pod of a replica; nil: the default labels of all kinds. LabelReplicaIndex is the
	// only one that differs between the replicas of a type.
	Labels func(job *Job, rtype *ReplicaType, index int) map[string]string
	// GangOverrides: the gang scheduler replaces a schedulerName in the template, and pods do not carry AnnotationTask.
	GangOverrides bool
	// QueueAnnotation is the annotation of an object that names the queue of its gang if spec.runPolicy.schedulingPolicy.queue is unset.
	QueueAnnotation string
	// Unlike is another version of the kind. This version rejects its jobs, although API servers may convert them.
	Unlike UnlikeVersion
	// Sentences are the messages of the conditions of its jobs, if they differ from those of Job.Sentences.
	Sentences func(job *Job) Sentences
	// SuspendedNotRunning: a suspended job has the condition Running with status False, whether it ran before or not.
	SuspendedNotRunning bool
	// MastersOnly: without Success.Whole, no pod of the success replica type carries the master label.
	MastersOnly bool

	// DependentKinds lists the resources of the objects that Dependents may return.
	DependentKinds []schema.Resource
	// Unwatched are those of DependentKinds whose objects are created together with pods and never read again, so that the
	// operator needs no permission to list them.
	Unwatched []schema.Resource
	// Dependents returns the dependents of a job; nil if jobs of the kind have none.
	Dependents func(job *Job, running RunningReplicas) []Dependent
	// DependentNames are the suffixes that follow the job's name in the names of its dependent objects; no suffix is always
	// allowed. The operator does not touch an object of another name: a user created it by hand.
	DependentNames []string
	// Annotations are the annotations of its objects that are settings of the operator.
	Annotations []NumberAnnotation
	// Verbatim is the path, below spec, of a value that jobs keep as the user wrote it: Job.Verbatim.
	Verbatim []string

	// Cluster holds the settings of the cluster. It is empty in kinds.All; see In.
	Cluster Cluster
}

// UnlikeVersion is a version of a kind with the same shape, whose jobs need an environment that the served version does not
// provide. Jobs that keep content of it in AnnotationConversion are rejected.
type UnlikeVersion struct {
	Name       string // "v2beta1"; "" if there is none
	Want, Hint string // of the Problem
}

// AnnotationConversion is where the conversion between versions keeps, by version, the content that the current version cannot hold.
const AnnotationConversion = "training.kubeflow.org/conversion"

// KnownReplicaType is one replica type that a kind knows.
type KnownReplicaType struct {
	Name     string // as in the spec and in status.replicaStatuses: "Worker"
	Label    string // as in child names and labels: "worker"
	Replicas int32  // the default
	Only     int32  // the only number of replicas that it may have, or 0 for any
	Required bool   // a job without it is rejected
	// Unnumbered: its only replica has no index, neither in its name ("mnist-launcher") nor in its labels. Only is 1 then.
	Unnumbered bool
	// QuietRestart: a restart policy in its pod template is a warning, as for all, but not the event that clients know it by.
	QuietRestart bool
	// AtLeast is the smallest number of replicas that it may have.
	AtLeast int32
	// Restart is its default restart policy; "": that of the kind.
	Restart RestartPolicy
	// Batch: a batch/v1 Job, which has the name of the replica, creates its pods. It has one replica and is Unnumbered.
	Batch bool
	// Volumes are the names of the volumes that Kind.Pod adds to its pods: containers in the template may mount them.
	Volumes []string
	// NoService: its replicas have no services.
	NoService bool
	// Hostname: the name of a replica is the hostname of its pod.
	Hostname bool
	// After names the replica type that must run first: a pod is only created while all replicas of that type run or have
	// succeeded. Existing pods stay, whatever happens to those replicas. "": none. No replica type may wait for one that waits.
	After string
}

// Child returns the name of a replica: "mnist-worker-0".
func (t *KnownReplicaType) Child(job string, index int) string { return job + "-" + t.Replica(index) }

// NameLimit returns the maximum length of the name of a replica, which its objects have, too. A service, a hostname and a
// batch/v1 Job, whose name is the value of a label, have at most 63 characters; a pod may have 253.
func (t *KnownReplicaType) NameLimit() int {
	if !t.NoService || t.Hostname || t.Batch {
		return 63
	}
	return 253
}

// Replica returns the name of a replica in a ledger: "worker-0".
func (t *KnownReplicaType) Replica(index int) string {
	if t.Unnumbered {
		return t.Label
	}
	return ReplicaName(t.Label, index)
}

// PodAdditions is what a kind adds to the pods of a replica type, apart from environment and init containers.
type PodAdditions struct {
	// Volumes, as JSON, are appended to those of the template, except where the name is taken: the user replaced that volume.
	Volumes []json.RawMessage
	// Mounts are volumeMounts, as JSON, that are appended to those of the training container, except where the path is taken.
	Mounts []json.RawMessage
	// Container and Spec hold fields of the training container and of the pod's spec, such as args or serviceAccountName.
	// They replace the user's values; a kind that respects those leaves the fields out.
	Container, Spec map[string]json.RawMessage
	// Hostname: see KnownReplicaType.
	Hostname bool
}

// Port is a named container port.
type Port struct {
	Name   string
	Number int32
}

// EnvVar is one environment variable of a replica.
type EnvVar struct {
	Name, Value string
	// Field is the field of the pod that provides the value instead: "status.podIP". It is empty for most.
	Field string
	// UserWins: the variable is a preference. If a container of the template sets it, the user's stays and this one is left
	// out. Otherwise this one replaces the user's, and the user gets a warning. See Kind.Variables.
	UserWins bool
}

// Variable documents an environment variable that the operator sets.
type Variable struct {
	Name string
	// When says in which pods it is set: "a job with a master". Empty: in all.
	When string
	// UserWins is EnvVar.UserWins of this name. UserWinsIf says when it is true if that depends on the job.
	UserWins   bool
	UserWinsIf string
	// Instead is the field by which users change the value; empty if there is none.
	Instead string
}

// In returns a copy of the kind with the settings of a cluster.
func (k *Kind) In(cluster Cluster) *Kind {
	kind := *k
	kind.Cluster = cluster
	return &kind
}

// ManagedByUs returns the value of spec.runPolicy.managedBy that names this operator.
func (k *Kind) ManagedByUs() string { return cmp.Or(k.ManagedBy, ManagedByUs) }

// RestartOf returns the default restart policy of a replica type.
func (k *Kind) RestartOf(rtype *KnownReplicaType) RestartPolicy {
	return cmp.Or(rtype.Restart, k.Restart)
}

// ReplicaType returns the replica type of the given name, compared without case, or nil.
func (k *Kind) ReplicaType(name string) *KnownReplicaType {
	for i := range k.ReplicaTypes {
		if strings.EqualFold(k.ReplicaTypes[i].Name, name) {
			return &k.ReplicaTypes[i]
		}
	}
	return nil
}

// HasServices reports whether jobs of the kind have services, whose names begin with the name of the job.
func (k *Kind) HasServices() bool {
	ofReplicas := slices.ContainsFunc(k.ReplicaTypes, func(t KnownReplicaType) bool { return !t.NoService })
	return ofReplicas || slices.Contains(k.DependentKinds, schema.Services())
}

// APIVersion returns the apiVersion of the kind's objects: "kubeflow.org/v1".
func (k *Kind) APIVersion() string { return k.Group + "/" + k.Version }

// Resource returns the resource of the kind's own objects.
func (k *Kind) Resource() schema.Resource {
	return schema.Resource{Group: k.Group, Version: k.Version, Plural: k.Plural, Kind: k.Name}
}

// NumberAnnotation is an annotation that holds a whole number, at least 1. Any other value is ignored, with a warning.
type NumberAnnotation struct {
	Name string
	// Most is the largest legal value. If MostOf is set, it is the number of replicas of that replica type.
	Most   int64
	MostOf string
	// Means says what the number does, for the reference.
	Means string
}

// Bound is the upper bound for scaling a replica type, and the path of the field that sets it.
type Bound struct {
	ReplicaType, Path string
	Replicas          int32
}
