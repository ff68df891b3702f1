package training

import (
	"encoding/json"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"stoic/schema"
)

// Dependent is an object beside pods and services that a job asks for. Of two of one resource the names differ.
type Dependent struct {
	Resource schema.Resource
	// Name is that of the object; "" is the name of the job. See Kind.DependentNames.
	Name string
	// Labels are those beside the labels by which the cache selects it. They are not repaired.
	Labels map[string]string
	// Content is what shall stand in the object beside apiVersion, kind, metadata and spec, such as data or rules. What of
	// it is compared, FormOf says.
	Content map[string]json.RawMessage
	// ContentOnce is what else these are made with, or with which members of their own. Later it is somebody else's, too.
	ContentOnce map[string]json.RawMessage
	// Spec is what shall stand in the object's spec, by key; a null wants nothing to stand there. Other keys are the
	// API server's or somebody else's.
	Spec map[string]json.RawMessage
	// Once is what else the spec is made with. Later it is somebody else's, too.
	Once map[string]json.RawMessage
	// Generate names the generator of what may not stand in a plan: see schema.Object.
	Generate string
	// Gate says what the job's pods wait for.
	Gate Gate
	// Before names a replica type whose pods wait until the object is stored as it is wanted: a write of it that fails, or is still
	// under way, keeps them from starting with less. "": none.
	Before string
	// Late: it is not made before that replica type may start, as nobody else needs it. Its gate is closed then only while it
	// cannot be seen.
	Late bool
	// Behind is the resource of another one of the job's that must be there first, as this one names it: what has that name may be
	// somebody else's. The zero value: none.
	Behind schema.Resource
	// Lazy: once that replica type has a pod, the object changes with the next status that counts replicas and not before. What
	// changes in a job that is about to end is then not written at all.
	Lazy bool
	// Follows are the resources whose children decide what it says: see schema.Patch.
	Follows []schema.Resource
	// Shared: an object of that name that belongs to somebody else does as well, so it has no gate.
	Shared bool
}

// Gate says for what of a dependent object pods wait. Pods that are there already stay.
type Gate string

const (
	NoGate       Gate = ""         // nothing
	GateExists   Gate = "Exists"   // that it exists
	GateAdmitted Gate = "Admitted" // that its status.phase says that it was admitted: it is neither empty nor Pending
)

// StoredDependent is what the plan needs to know of a dependent object that a job owns. Phase and spec may be anything.
type StoredDependent struct {
	Resource        schema.Resource
	Name            string
	UID             types.UID
	ResourceVersion string
	Created         time.Time // zero if the API server did not say
	Deleting        bool
	Phase           string // status.phase
	Spec            []byte // as compact JSON; nil if there is none, or it is not kept
	Content         []byte // what is kept of the rest; see Form
}

// DependentState is what the cache keeps of a dependent object beside its metadata; the fields are those of StoredDependent.
type DependentState struct {
	Phase   string
	Spec    []byte
	Content []byte
}

// DependentOf is a cached dependent object as plans see it.
func DependentOf(r schema.Resource, c *schema.Child, s *DependentState) StoredDependent {
	return StoredDependent{Resource: r, Name: c.Name, UID: c.UID, ResourceVersion: c.ResourceVersion, Created: c.Created, Deleting: c.Deleting,
		Phase: s.Phase, Spec: s.Spec, Content: s.Content}
}

// GenerateSSHKey names the generator of an SSH key pair: the data of a Secret of type kubernetes.io/ssh-auth.
const GenerateSSHKey = "ssh-key"

// Unavailable is a resource of dependent objects that the operator cannot see now.
type Unavailable struct {
	Resource schema.Resource
	// Why, for the author of a job; empty while that is being found out.
	Why string
	// Absent: the API server does not serve it.
	Absent bool
}

// The resources of dependent objects.

// PodGroups are what Volcano schedules together.
func PodGroups() schema.Resource {
	return schema.Resource{Group: "scheduling.volcano.sh", Version: "v1beta1", Plural: "podgroups", Kind: "PodGroup"}
}

// PluginPodGroups are what the coscheduling plugin schedules together.
func PluginPodGroups() schema.Resource {
	return schema.Resource{Group: "scheduling.x-k8s.io", Version: "v1alpha1", Plural: "podgroups", Kind: "PodGroup"}
}

// Autoscalers change the number of replicas.
func Autoscalers() schema.Resource {
	return schema.Resource{Group: "autoscaling", Version: "v2", Plural: "horizontalpodautoscalers", Kind: "HorizontalPodAutoscaler"}
}

// DependentResources are the resources of all dependent objects that jobs of the kind may ask for, where it is served.
func (k *Kind) DependentResources() []schema.Resource {
	return append(k.Cluster.Gang.Resources(), k.DependentKinds...)
}

// Present are replicas of one replica type by their indices, in ascending order.
type Present struct {
	Running []int
	// Begun are those whose pod has begun, however it has ended, and is still there.
	Begun []int
}

// RunningReplicas holds, by the name of a replica type, which of its replicas run. A replica type for which another one waits is missing
// until that one may begin: nothing reads these indices before, and each replica that comes to run would be a write.
type RunningReplicas map[string]Present

// DependentObjects are those that the job asks for in a cluster with these priorities while these replicas run, beside those of
// native gang scheduling, which depend on the version that is served.
func (j *Job) DependentObjects(priorities Priorities, running RunningReplicas) []Dependent {
	var dependents []Dependent
	if gang := j.Kind.Cluster.Gang; gang.On() && j.Replicas() > 0 {
		dependents = append(dependents, gang.group(j, priorities))
	}
	if j.Kind.Dependents != nil {
		dependents = append(dependents, j.Kind.Dependents(j, running)...)
	}
	return dependents
}
