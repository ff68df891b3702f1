package schema

import (
	"encoding/json"
	"strings"
)

// Kind says everything in which one custom resource differs from the others. It is a value, not an
// interface: it can be printed, compared and kept in a golden file, and a rejected object needs no
// side road. A new kind is one file with one of these, and one line in Kinds.
type Kind struct {
	Group, Version, Name string // "kubeflow.org", "v1", "TFJob"
	Plural, Singular     string // "tfjobs", "tfjob"

	// Framework is the value of the framework label of the metrics ("tensorflow").
	Framework string
	// Controller is the value of the operator-name label of children ("tfjob-controller").
	Controller string

	// RolesField is the field of spec that maps role names to replica specs ("tfReplicaSpecs").
	RolesField string
	// Roles lists the known roles, in the order in which they are counted, created and judged.
	Roles []RoleKind
	// Container names the container that trains; its exit code is the replica's ("tensorflow").
	Container string
	// Port is given to the training container if it has no port of this name.
	Port Port
	// Restart is the restart policy of a role that names none.
	Restart RestartPolicy

	// Own says what becomes of the kind's own fields if they are left out; see Defaults.
	Own []Default

	// Options returns a pointer to a zero value of the struct that holds the kind's own fields of
	// spec, beside runPolicy and the roles field, in wire form. The decoder fills it.
	Options func() any
	// Check returns what is wrong, or merely odd, with the kind's own fields and with the choice of roles,
	// whatever else is wrong with the object. Options is what Options returned, filled as far as it could be;
	// named says whether the author named a role.
	Check func(options any, named func(role string) bool) (problems, warnings []Problem)
	// Lower finishes a job whose common part is in normal form: it reads options, sets Job.Lead and what
	// else follows from them, and returns what is wrong with the job as a whole. It is total and may run
	// on any input the decoder lets through, also on what Check finds fault with.
	Lower func(job *Job, options any) []Problem
	// Environment returns what computes the variables of one replica. The outer call is made
	// once per plan, so that what all replicas share is built once.
	Environment func(job *Job) func(role *Role, index int) []EnvVar
	// EnvEverywhere puts the environment into every container, not only into the training container.
	EnvEverywhere bool
	// Init returns the init containers, as JSON, that the replicas of a role get behind their own; nil if none do.
	Init func(job *Job, role *Role) []json.RawMessage
	// Selectors: the status of each role says how to select its pods, for the scale subresource.
	Selectors bool

	// ExtraKinds lists the resources of the objects, beside pods and services, that Extras may ask for.
	ExtraKinds []Resource
	// Extras are those that a job asks for; nil if jobs of the kind never do.
	Extras func(job *Job) []Extra
	// Verbatim is the path, below spec, of a value that jobs keep as their authors wrote it: Job.Verbatim.
	Verbatim []string

	// Cluster is what the kind's functions may know of the cluster. Kinds of Kinds know nothing; see In.
	Cluster Cluster
}

// RoleKind is one role that a kind knows.
type RoleKind struct {
	Name     string // as in the spec and in status.replicaStatuses: "Worker"
	Label    string // as in child names and labels: "worker"
	Replicas int32  // if the author gives none
	Only     int32  // the only number of replicas that it may have, or 0 for any
}

// Port is a named container port.
type Port struct {
	Name   string
	Number int32
}

// EnvVar is one environment variable of a replica.
type EnvVar struct{ Name, Value string }

// Kinds lists every kind that this program serves. The list is explicit: nothing registers itself.
func Kinds() []*Kind { return []*Kind{PyTorchJob(), TFJob()} }

// In is the kind as it is served in a cluster.
func (k *Kind) In(cluster Cluster) *Kind {
	kind := *k
	kind.Cluster = cluster
	return &kind
}

// Role returns the role of the given name, compared without case, or nil.
func (k *Kind) Role(name string) *RoleKind {
	for i := range k.Roles {
		if strings.EqualFold(k.Roles[i].Name, name) {
			return &k.Roles[i]
		}
	}
	return nil
}

// APIVersion is group and version as objects carry them: "kubeflow.org/v1".
func (k *Kind) APIVersion() string { return k.Group + "/" + k.Version }
