package schema

import (
	"encoding/json"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// Extra is an object beside pods and services that a job asks for. It has the name of the job, which has at most one
// of each resource.
type Extra struct {
	Resource Resource
	// Spec is what shall stand in the object's spec, by key; a null wants nothing to stand there. Other keys are the
	// API server's or somebody else's.
	Spec map[string]json.RawMessage
	// Once is what else the spec is made with. Later it is somebody else's, too.
	Once map[string]json.RawMessage
	// Gate says what the job's pods wait for.
	Gate Gate
}

// Gate says for what of an extra object pods wait. Pods that are there already stay.
type Gate string

const (
	NoGate       Gate = ""         // nothing
	GateExists   Gate = "Exists"   // that it exists
	GateAdmitted Gate = "Admitted" // that its status.phase says that it was admitted: it is neither empty nor Pending
)

// StoredExtra is what the plan needs to know of an extra object that a job owns. Phase and spec may be anything.
type StoredExtra struct {
	Resource        Resource
	Name            string
	UID             types.UID
	ResourceVersion string
	Created         time.Time // zero if the API server did not say
	Deleting        bool
	Phase           string // status.phase
	Spec            []byte // as compact JSON
}

// Unseen is a resource of extra objects that the operator cannot see now.
type Unseen struct {
	Resource Resource
	// Why, for the author of a job; empty while that is being found out.
	Why string
}

// The resources of extra objects.

// PodGroups are what Volcano schedules together.
func PodGroups() Resource {
	return Resource{Group: "scheduling.volcano.sh", Version: "v1beta1", Plural: "podgroups", Kind: "PodGroup"}
}

// PluginPodGroups are what the coscheduling plugin schedules together.
func PluginPodGroups() Resource {
	return Resource{Group: "scheduling.x-k8s.io", Version: "v1alpha1", Plural: "podgroups", Kind: "PodGroup"}
}

// Autoscalers change the number of replicas.
func Autoscalers() Resource {
	return Resource{Group: "autoscaling", Version: "v2", Plural: "horizontalpodautoscalers", Kind: "HorizontalPodAutoscaler"}
}

// APIVersion is group and version as objects carry them.
func (r Resource) APIVersion() string {
	if r.Group == "" {
		return r.Version
	}
	return r.Group + "/" + r.Version
}

// ExtraResources are the resources of all extra objects that jobs of the kind may ask for, where it is served.
func (k *Kind) ExtraResources() []Resource {
	if !k.Cluster.Gang.On() {
		return k.ExtraKinds
	}
	return append([]Resource{k.Cluster.Gang.Resource()}, k.ExtraKinds...)
}

// ExtraObjects are those that the job asks for.
func (j *Job) ExtraObjects() []Extra {
	var extras []Extra
	if gang := j.Kind.Cluster.Gang; gang.On() && j.Replicas() > 0 {
		extras = append(extras, gang.group(j))
	}
	if j.Kind.Extras != nil {
		extras = append(extras, j.Kind.Extras(j)...)
	}
	return extras
}
