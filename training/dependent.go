package training

import (
	"encoding/json"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"stoic/schema"
)

// Dependent is an object other than a pod or service that a job needs. Two dependents of one resource have different names.
type Dependent struct {
	Resource schema.Resource
	// Name is the name of the object; "" is the name of the job. See Kind.DependentNames.
	Name string
	// Labels are set in addition to the labels by which the cache selects the object. They are not repaired.
	Labels map[string]string
	// Content holds the desired top-level members other than apiVersion, kind, metadata and spec, such as data or rules.
	// FormOf says which of them are compared.
	Content map[string]json.RawMessage
	// ContentOnce is merged into Content at creation only. Afterwards other clients may change it.
	ContentOnce map[string]json.RawMessage
	// Spec holds the desired keys of the object's spec; a null means that the key must be absent. Other keys belong to the
	// API server or to other clients.
	Spec map[string]json.RawMessage
	// Once holds further keys of the spec that are set at creation only. Afterwards other clients may change them.
	Once map[string]json.RawMessage
	// Generate names the generator of content that must not appear in a plan, such as a key: see schema.Object.
	Generate string
	// Gate says what the job's pods wait for.
	Gate Gate
	// Before names a replica type whose pods wait until the stored object has the desired content. While a write of it fails
	// or is pending, these pods are not created. "": none.
	Before string
	// Late: the object is not created until the replica type in Before may start, as no other pod needs it. Its gate then
	// blocks only while its resource is unavailable.
	Late bool
	// Behind is the resource of another dependent of the job that must exist first, because this one refers to it by name:
	// until then an object of that name may be foreign. The zero value: none.
	Behind schema.Resource
	// Lazy: once the replica type in Before has a pod, an update of the object waits as long as a debounced status with new
	// counts does. If the job ends in the meantime, the update is never written.
	Lazy bool
	// Follows are the resources of the children that determine its content: see schema.Patch.
	Follows []schema.Resource
	// Shared: a foreign object of that name serves as well, so there is no gate.
	Shared bool
}

// Gate says which state of a dependent object must be reached before pods are created. Existing pods stay.
type Gate string

const (
	NoGate       Gate = ""         // nothing
	GateExists   Gate = "Exists"   // that it exists
	GateAdmitted Gate = "Admitted" // that its status.phase says that it was admitted: it is neither empty nor Pending
)

// StoredDependent is what the plan reads of a dependent object that a job owns. Phase and spec may be anything.
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
	Ending          *Ending
}

// DependentState is what the cache keeps of a dependent object in addition to its metadata, as in StoredDependent.
type DependentState struct {
	Phase   string
	Spec    []byte
	Content []byte
	Ending  *Ending
}

// DependentOf returns a cached dependent object in the form that plans use.
func DependentOf(r schema.Resource, c *schema.Child, s *DependentState) StoredDependent {
	return StoredDependent{Resource: r, Name: c.Name, UID: c.UID, ResourceVersion: c.ResourceVersion, Created: c.Created, Deleting: c.Deleting,
		Phase: s.Phase, Spec: s.Spec, Content: s.Content, Ending: s.Ending}
}

// GenerateSSHKey names the generator of an SSH key pair: the data of a Secret of type kubernetes.io/ssh-auth.
const GenerateSSHKey = "ssh-key"

// Unavailable is a resource of dependent objects that the operator currently cannot read.
type Unavailable struct {
	Resource schema.Resource
	// Why is the cause, written for the user of a job; empty while it is not known yet.
	Why string
	// Absent: the API server does not serve it.
	Absent bool
}

// The resources of dependent objects.

// PodGroups returns the resource of Volcano's pod groups.
func PodGroups() schema.Resource {
	return schema.Resource{Group: "scheduling.volcano.sh", Version: "v1beta1", Plural: "podgroups", Kind: "PodGroup"}
}

// PluginPodGroups returns the resource of the coscheduling plugin's pod groups.
func PluginPodGroups() schema.Resource {
	return schema.Resource{Group: "scheduling.x-k8s.io", Version: "v1alpha1", Plural: "podgroups", Kind: "PodGroup"}
}

// Autoscalers returns the resource of HorizontalPodAutoscalers.
func Autoscalers() schema.Resource {
	return schema.Resource{Group: "autoscaling", Version: "v2", Plural: "horizontalpodautoscalers", Kind: "HorizontalPodAutoscaler"}
}

// DependentResources returns the resources of all dependent objects that jobs of the kind may need in its Cluster.
func (k *Kind) DependentResources() []schema.Resource {
	return append(k.Cluster.Gang.Resources(), k.DependentKinds...)
}

// Present holds the indices of existing replicas of one replica type, in ascending order.
type Present struct {
	Running []int
	// Begun are the replicas whose pod has started and still exists, whether or how it has ended.
	Begun []int
}

// RunningReplicas holds, by the name of a replica type, which of its replicas run. A replica type that another one waits for
// is missing until the other one may start: its indices are not read earlier, and each replica that starts would cost a write.
type RunningReplicas map[string]Present

// DependentObjects returns the dependents of the job in a cluster with these priorities while these replicas run. Those of
// native gang scheduling are not included, as they depend on the served version: see NativeVersion.Dependents.
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
