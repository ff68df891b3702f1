package training

import (
	"cmp"
	"encoding/json"
	"reflect"
	"strings"

	"stoic/schema"
)

// Kind says everything in which one custom resource differs from the others. It is a value, not an
// interface: it can be printed, compared and kept in a golden file, and a rejected object needs no
// code of its own. A new kind is one file with one of these, and one line in kinds.All.
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
	// AnyCase: the author may write the names of replica types in any case. Other programs look for the exact names, so it is
	// on only where the users of a kind rely on it.
	AnyCase bool
	// FlatPolicy: the kind's first v1 had fields of the run policy in the spec. Where spec.runPolicy lacks them, they count there.
	// They reach the operator only under CRDs that declare them, such as Arena's; ours do not.
	FlatPolicy bool
	// Container names the container that trains; its exit code is the replica's ("tensorflow").
	Container string
	// FirstContainer: the environment and all else goes to the first container of a pod, whatever its name, and the exit
	// code of the replica is that of the first one where none has the name of Container.
	FirstContainer bool
	// Port is given to the training container if it has no port of this name. Without a name, there is none.
	Port Port
	// Restart is the restart policy of a replica type that names none.
	Restart RestartPolicy

	// RestartPolicies are those that its replica types may have; nil: all.
	RestartPolicies []RestartPolicy
	// ManagedBy is the value of spec.runPolicy.managedBy that names this operator; "" is ManagedByUs.
	ManagedBy string

	// Wire is the type of its objects in wire form, of which CRD and reference tables are made.
	Wire reflect.Type
	// Own says what becomes of the kind's own fields if they are left out; see Defaults.
	Own []Default

	// Options returns a pointer to a zero value of the struct that holds the kind's own fields of
	// spec, beside runPolicy and the replica types field, in wire form. The decoder fills it.
	Options func() any
	// Check, if any, returns what is wrong, or merely odd, with the kind's own fields and with the choice of replica types,
	// whatever else is wrong with the object. Options is what Options returned, filled as far as it could be;
	// named says whether the author named a replica type.
	Check func(options any, named func(rtype string) bool) (problems, warnings []schema.Problem)
	// Bound, if any, returns up to how many replicas a replica type may be scaled, and the path of the field that says so; nil where
	// nothing does. Options may be filled with whatever the decoder lets through.
	Bound func(options any) *Bound
	// Lower finishes a job whose common part is in normal form: it reads options, sets Job.Success and what
	// else follows from them, and returns what is wrong with the job as a whole. It is total and may run
	// on any input the decoder lets through, also on what Check finds fault with.
	Lower func(job *Job, options any) []schema.Problem
	// Environment returns what computes the variables of one replica. The outer call is made
	// once per plan, so that what all replicas share is built once.
	Environment func(job *Job) func(rtype *ReplicaType, index int) []EnvVar
	// EnvEverywhere puts the environment into every container, not only into the training container.
	EnvEverywhere bool
	// Init returns the init containers, as JSON, that the replicas of a replica type get behind their own; nil if none do.
	Init func(job *Job, rtype *ReplicaType) []json.RawMessage
	// Pod returns what else the pods of a replica type get; nil: nothing.
	Pod func(job *Job, rtype *ReplicaType) PodAdditions
	// Labels of a replica's pod; nil: those by which all kinds name a replica.
	Labels func(job *Job, rtype *ReplicaType, index int) map[string]string
	// GangOverrides: the gang scheduler takes the place of one that the author has named, and pods name their group alone.
	GangOverrides bool
	// QueueAnnotation of an object names the queue of its gang, if spec.runPolicy.schedulingPolicy.queue does not.
	QueueAnnotation string
	// Unlike is another version of the kind whose jobs this one does not run, though API servers may convert them to it.
	Unlike UnlikeVersion
	// Sentences are the messages of the conditions of its jobs, if they differ from those of Job.Sentences.
	Sentences func(job *Job) Sentences
	// TellsEviction: the reason of Failed says so where nodes have evicted all pods that failed the job.
	TellsEviction bool
	// SuspendedNotRunning: a suspended job has a Running that is False, whether it has run before or not.
	SuspendedNotRunning bool
	// MastersOnly: of a success replica type that does not count as a whole (Success.Whole) no pod carries the master label.
	MastersOnly bool
	// Selectors: the status of each replica type says how to select its pods, for the scale subresource.
	Selectors bool

	// DependentKinds lists the resources of the objects, beside pods and services, that Dependents may ask for.
	DependentKinds []schema.Resource
	// Unwatched are those of DependentKinds whose objects are made with pods and never read again, so that the operator needs no
	// permission to list them.
	Unwatched []schema.Resource
	// Dependents are those that a job asks for; nil if jobs of the kind never do.
	Dependents func(job *Job, running RunningReplicas) []Dependent
	// DependentNames are what stands behind the job's name in the names of its dependent objects, beside nothing. An object
	// of another name is somebody's work by hand and is left alone.
	DependentNames []string
	// Verbatim is the path, below spec, of a value that jobs keep as their authors wrote it: Job.Verbatim.
	Verbatim []string

	// Cluster is what the kind's functions may know of the cluster. Those of kinds.All know nothing; see In.
	Cluster Cluster
}

// UnlikeVersion of a kind has the same shape, and jobs that expect another surrounding than this version gives them. Jobs that keep
// content of it in AnnotationConversion are rejected.
type UnlikeVersion struct {
	Name       string // "v2beta1"; "" if there is none
	Want, Hint string // of the Problem
}

// AnnotationConversion is where the conversion between versions keeps, by version, what the present version has no place for.
const AnnotationConversion = "training.kubeflow.org/conversion"

// KnownReplicaType is one replica type that a kind knows.
type KnownReplicaType struct {
	Name     string // as in the spec and in status.replicaStatuses: "Worker"
	Label    string // as in child names and labels: "worker"
	Replicas int32  // if the author gives none
	Only     int32  // the only number of replicas that it may have, or 0 for any
	Required bool   // a job without it is rejected
	// Unnumbered: its one replica has no index, neither in its name ("mnist-launcher") nor in its labels. Only is 1 then.
	Unnumbered bool
	// QuietRestart: a restart policy in its pod template is a warning of the spec, as for all, but no event by which clients know it.
	QuietRestart bool
	// AtLeast is the smallest number of replicas that it may have.
	AtLeast int32
	// Restart is its restart policy if the author gives none; "" is that of the kind.
	Restart RestartPolicy
	// Batch: its pods are made by a batch/v1 Job, which has the name of the replica. It has one replica and is Unnumbered.
	Batch bool
	// Volumes are the names of those that Kind.Pod adds to its pods: containers of the author's may mount them, too.
	Volumes []string
	// NoService: its replicas have no services.
	NoService bool
	// After names the replica type that must run first: a pod is created only while all replicas of that one run or have
	// succeeded. A pod that is there stays, whatever becomes of them. "": none. A replica type that waits is not waited for.
	After string
}

// Child is the name of a replica: "mnist-worker-0".
func (t *KnownReplicaType) Child(job string, index int) string { return job + "-" + t.Replica(index) }

// Replica is what a ledger calls a replica: "worker-0".
func (t *KnownReplicaType) Replica(index int) string {
	if t.Unnumbered {
		return t.Label
	}
	return ReplicaName(t.Label, index)
}

// PodAdditions is what the pods of a replica type get beside what their author wrote and beside environment and init
// containers.
type PodAdditions struct {
	// Volumes, as JSON, go behind the author's, but for one whose name is taken: its author has put another in its place.
	Volumes []json.RawMessage
	// Mounts are volumeMounts, as JSON, of the container that trains. They go behind the author's, but for one whose path is
	// taken.
	Mounts []json.RawMessage
	// Container and Spec hold fields of the container that trains and of the pod's spec, such as args or
	// serviceAccountName. They take the place of the author's, so a kind that respects those leaves them out.
	Container, Spec map[string]json.RawMessage
	// Hostname: the pod's hostname is its name.
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
	// Field is the field of the pod whose value it has instead: "status.podIP". It is empty for most.
	Field string
}

// In is the kind as it is served in a cluster.
func (k *Kind) In(cluster Cluster) *Kind {
	kind := *k
	kind.Cluster = cluster
	return &kind
}

// ManagedByUs is the value of spec.runPolicy.managedBy that names this operator.
func (k *Kind) ManagedByUs() string { return cmp.Or(k.ManagedBy, ManagedByUs) }

// RestartOf a replica type that names no restart policy.
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

// APIVersion is group and version as objects carry them: "kubeflow.org/v1".
func (k *Kind) APIVersion() string { return k.Group + "/" + k.Version }

// Resource is the resource of the kind's own objects.
func (k *Kind) Resource() schema.Resource {
	return schema.Resource{Group: k.Group, Version: k.Version, Plural: k.Plural, Kind: k.Name}
}

// Bound is up to how many replicas a replica type may be scaled.
type Bound struct {
	ReplicaType, Path string
	Replicas          int32
}
