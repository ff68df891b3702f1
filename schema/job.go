package schema

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Head is what can be read of any object, job or not. It is what the cache needs to hold an object.
type Head struct {
	Kind *Kind
	// Meta is cut to what is used: name, namespace, UID, resourceVersion, generation, creation and
	// deletion time. Labels, annotations and managedFields are not kept.
	Meta metav1.ObjectMeta
	// Status is what the object's status says, read leniently; see Status.
	Status Status
	// Ledger is the ledger on record, if it is that of this object; else an empty one.
	Ledger Ledger
	// ManagedBy is empty for us; else the name of the controller that runs this object instead of us. It is read of
	// rejections too: what is not ours is not ours to reject.
	ManagedBy string
	// Warnings are the problems that do not keep a job from running, in order of path.
	Warnings []Problem
}

// GetObjectMeta lets the informer's store key and compare a head.
func (h *Head) GetObjectMeta() metav1.Object { return &h.Meta }

// Key is namespace/name, the form that the queue uses.
func (h *Head) Key() string { return h.Meta.Namespace + "/" + h.Meta.Name }

// Job is an object in normal form. Only the converter makes one; nobody writes to one.
type Job struct {
	*Head
	Policy RunPolicy
	// Roles holds the roles that the author named, in the order of Kind.Roles. Never empty.
	Roles []Role
	// Lead says whose success is the job's.
	Lead Lead
	// Own holds the normal form of the kind's own fields, for the kind's own functions.
	Own any
	// Verbatim is the value at Kind.Verbatim as compact JSON; nil if it is absent or null.
	Verbatim []byte
}

// Rejection is an object that cannot be run, addressed to its author. Problems is never empty.
type Rejection struct {
	*Head
	Problems []Problem // in order of path
}

// Role is one role of a job, in normal form.
type Role struct {
	RoleKind
	Replicas int // 0..MaxReplicas, the default filled in
	Restart  RestartPolicy
	// Template is the pod template as compact JSON, as the author wrote it (also fields that no
	// library knows), with what every replica shares already put in: the default port, the pod's
	// restart policy. spec.containers exists and holds the training container.
	Template []byte
	// Ports are the ports of the training container, the first of each name, in the author's order.
	Ports []Port
	// Port is the number of the port named Kind.Port.Name.
	Port int32
	// Expendable roles may fail without failing the job (workers of a dynamic TFJob).
	Expendable bool
}

// Role returns the job's role of that canonical name, or nil if the author named none such.
func (j *Job) Role(name string) *Role {
	for i := range j.Roles {
		if j.Roles[i].Name == name {
			return &j.Roles[i]
		}
	}
	return nil
}

// Replicas is the sum over all roles.
func (j *Job) Replicas() int {
	sum := 0
	for i := range j.Roles {
		sum += j.Roles[i].Replicas
	}
	return sum
}

// Lead says whose success is the job's success.
//
//	Rule   Running when                 Succeeded when
//	All    any replica of Role active   all replicas of Role succeeded
//	First  any replica of Role active   all succeeded, or replica 0 succeeded
//	Any    any replica of Role active   at least one succeeded and none is active
//
// A job without a lead role (Role is "") never succeeds by itself.
type Lead struct {
	Role string // canonical role name, or ""
	Rule LeadRule
	// Whole: every replica of Role carries the master label; otherwise only replica 0 does.
	Whole bool
}

type LeadRule string

const (
	LeadAll   LeadRule = "All"
	LeadFirst LeadRule = "First"
	LeadAny   LeadRule = "Any"
)

// RunPolicy is the normal form of spec.runPolicy.
type RunPolicy struct {
	CleanPods CleanPodPolicy
	TTL       Limit // seconds after completionTime until the job object is deleted
	Deadline  Limit // seconds after startTime until the job fails
	Backoff   Limit // restarts until the job fails
	Suspend   bool
	// Scheduling has an effect only with gang scheduling.
	Scheduling Scheduling
}

// Limit is an optional number. The zero value means: no limit.
type Limit struct {
	Set   bool
	Value int64
}

// Scheduling is the normal form of spec.runPolicy.schedulingPolicy.
type Scheduling struct {
	MinAvailable   Limit
	Queue          string
	PriorityClass  string
	TimeoutSeconds Limit
	// MinResources as the author wrote them, checked to be quantities.
	MinResources map[string]string
}

// RestartPolicy of a role.
//
//	role's policy   pod's policy   a pod that has failed
//	Always          Always         is replaced
//	OnFailure       OnFailure      is replaced (the kubelet restarts containers; this is an eviction)
//	Never           Never          fails the job
//	ExitCode        Never          is replaced if its exit code is at least 128 or unknown, else fails the job
//
// Whatever is replaced counts towards RunPolicy.Backoff; see Ledger.
type RestartPolicy string

const (
	RestartAlways    RestartPolicy = "Always"
	RestartOnFailure RestartPolicy = "OnFailure"
	RestartNever     RestartPolicy = "Never"
	RestartExitCode  RestartPolicy = "ExitCode"
)

// RestartPolicies lists the legal values, in the order in which messages name them.
func RestartPolicies() []string {
	return []string{string(RestartAlways), string(RestartOnFailure), string(RestartNever), string(RestartExitCode)}
}

// Pod is the restart policy that the role's pods get.
func (p RestartPolicy) Pod() string {
	if p == RestartExitCode {
		return string(RestartNever)
	}
	return string(p)
}

// CleanPodPolicy says which pods are deleted when a job has a verdict.
type CleanPodPolicy string

const (
	CleanAll     CleanPodPolicy = "All"     // all pods and all services
	CleanRunning CleanPodPolicy = "Running" // pods that run or wait, and their services
	CleanNone    CleanPodPolicy = "None"
)

// CleanPodPolicies lists the legal values, in the order in which messages name them.
func CleanPodPolicies() []string {
	return []string{string(CleanAll), string(CleanRunning), string(CleanNone)}
}

const (
	// MaxReplicas bounds the replicas of one job, all roles together. It is far above what an API
	// server carries for one job and keeps a typing error from becoming a loop bound.
	MaxReplicas = 20000
	// ManagedByUs is the value of spec.runPolicy.managedBy that names this operator.
	ManagedByUs = "kubeflow.org/training-operator"
	// ManagedByMultiKueue names the one other controller that the API allows.
	ManagedByMultiKueue = "kueue.x-k8s.io/multikueue"
)
