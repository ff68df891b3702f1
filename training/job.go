package training

import (
	"stoic/schema"
)

// Head is what can be read from any object of a kind, whether its spec is accepted or not.
type Head struct {
	schema.Head
	Kind *Kind
	// Status is the object's status, read leniently; see Status.
	Status Status
	// Ledger is the stored ledger if it belongs to this object; else an empty one.
	Ledger Ledger
	// ManagedBy is empty if this operator runs the object; else it is the name of the other controller. It is also set for
	// rejections: the operator does not reject objects of other controllers.
	ManagedBy string
	// PodRestartPolicy is the path of the first restart policy in a pod template that the replica type's policy replaces. It
	// is empty if there is none, or if clients of the kind know no event about it. The warning itself may have been dropped.
	PodRestartPolicy string
}

// Job is an object in normal form. Only the converter creates one; it is read-only.
type Job struct {
	*Head
	Policy RunPolicy
	// ReplicaTypes holds the replica types in the spec, in the order of Kind.ReplicaTypes. Never empty.
	ReplicaTypes []ReplicaType
	// Success says which replicas must succeed for the job to succeed.
	Success Success
	// Batch holds the settings of the batch/v1 Job that runs a replica type, if there is one.
	Batch BatchPolicy
	// Grace lets pods run on after the job has succeeded. The zero value: none.
	Grace Grace
	// Annotations holds the values of Kind.Annotations that are set and legal, by name.
	Annotations map[string]int64
	// Own holds the normal form of the kind's own fields, for the kind's own functions.
	Own any
	// Verbatim is the value at Kind.Verbatim as compact JSON; nil if it is absent or null.
	Verbatim []byte
}

// Rejection says why an object cannot be run. Problems is never empty.
type Rejection struct {
	*Head
	Problems []schema.Problem // in order of path
	More     int              // how many are not kept
}

// ReplicaType is one replica type of a job, in normal form.
type ReplicaType struct {
	KnownReplicaType
	Replicas int // 0..MaxReplicas, the default filled in
	// Minimum is the number of replicas that an elastic job starts with, at most Replicas; 0: the job is not elastic, and needs all.
	Minimum int
	Restart RestartPolicy
	// Template is the pod template as compact JSON, as the user wrote it (unknown fields included),
	// with the parts that all replicas share already filled in: the default port and the pod's
	// restart policy. spec.containers exists and holds the training container.
	Template []byte
	// Container is the name of the container whose exit code counts as the exit code of the replica.
	Container string
	// Ports are the ports of its services: see ServicePorts. Those of the training container come before those of others.
	Ports []Port
	// Port is the number of the port named Kind.Port.Name. Environment variables contain it.
	Port int32
	// Expendable replica types may fail without failing the job (workers of a dynamic TFJob).
	Expendable bool
}

// ReplicaType returns the job's replica type of that canonical name, or nil if the spec has none.
func (j *Job) ReplicaType(name string) *ReplicaType {
	for i := range j.ReplicaTypes {
		if j.ReplicaTypes[i].Name == name {
			return &j.ReplicaTypes[i]
		}
	}
	return nil
}

// Replicas returns the number of replicas of all replica types together.
func (j *Job) Replicas() int {
	sum := 0
	for i := range j.ReplicaTypes {
		sum += j.ReplicaTypes[i].Replicas
	}
	return sum
}

// Needed returns the number of replicas that the job cannot start without. Replica types that wait for this one wait for so
// many, and so many are placed together by a gang scheduler.
func (t *ReplicaType) Needed() int {
	if t.Minimum == 0 {
		return t.Replicas
	}
	return t.Minimum
}

// FirstMembers returns the number of replicas that a gang scheduler must place together for the job to start. Replicas that
// wait for others are not among them: the scheduler would wait for them, and they for it.
func (j *Job) FirstMembers() int {
	sum := 0
	for i := range j.ReplicaTypes {
		if rtype := &j.ReplicaTypes[i]; j.Awaited(rtype) == nil {
			sum += rtype.Needed()
		}
	}
	return sum
}

// Early returns the number of replicas that start without waiting for others.
func (j *Job) Early() int {
	sum := 0
	for i := range j.ReplicaTypes {
		if rtype := &j.ReplicaTypes[i]; j.Awaited(rtype) == nil {
			sum += rtype.Replicas
		}
	}
	return sum
}

// Awaited returns the replica type that rtype waits for. It is nil if there is none, or if the job has no replicas of it.
func (j *Job) Awaited(rtype *ReplicaType) *ReplicaType {
	after := rtype.After
	if rtype.Batch {
		after = j.Batch.Awaits
	}
	if after == "" {
		return nil
	}
	awaited := j.ReplicaType(after)
	if awaited == nil || awaited.Replicas == 0 {
		return nil
	}
	return awaited
}

// Success says which replicas must succeed for the job to succeed.
//
//	Rule   Running when                 Succeeded when
//	All    any replica of it active     all replicas of it succeeded
//	First  any replica of it active     all succeeded, or replica 0 succeeded
//	Any    any replica of it active     at least one succeeded
//	Batch  all replicas active          the batch/v1 Job is complete
//
// A job without a success replica type (ReplicaType is "") never succeeds by itself.
type Success struct {
	ReplicaType string // canonical replica type name, or ""
	Rule        SuccessRule
	// Whole: every replica of ReplicaType carries the master label; otherwise only replica 0 does, or none if Kind.MastersOnly.
	Whole bool
}

type SuccessRule string

const (
	SuccessAll   SuccessRule = "All"
	SuccessFirst SuccessRule = "First"
	SuccessAny   SuccessRule = "Any"
	SuccessBatch SuccessRule = "Batch"
)

// Grace is how long pods of a replica type that have not ended are kept when the job has succeeded, whatever cleanPodPolicy says.
type Grace struct {
	ReplicaType string
	// Duration in seconds since completionTime; not set: none.
	Duration Limit
}

// RunPolicy is the normal form of spec.runPolicy.
type RunPolicy struct {
	CleanPods CleanPodPolicy // empty only for Kind.Lower, if runPolicy does not say it
	TTL       Limit          // seconds after completionTime until the job object is deleted
	Deadline  Limit          // seconds after startTime until the job fails
	Backoff   Limit          // restarts until the job fails
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
	// MinResources are quantities as the user wrote them. The converter has validated them.
	MinResources map[string]string
}

// RestartPolicy is the restart policy of a replica type.
//
//	replica type's policy   pod's policy   a pod that has failed by itself
//	Always                  Always         is replaced
//	OnFailure               OnFailure      is replaced (the kubelet restarts containers, so this is rare)
//	Never                   Never          fails the job
//	ExitCode                Never          is replaced if its exit code is at least 128 or unknown, else fails the job
//
// Each replacement counts towards RunPolicy.Backoff; see Ledger. What happens to a pod from outside has the same effect under
// every policy, and does not count:
//
//	what happens                                      the pod            counted
//	eviction by the API, as in a drain                is replaced        as a disruption, if it fails before it is deleted
//	eviction by its node, which has no memory left    is replaced        as a disruption
//	preemption                                        is replaced        as a disruption, if it fails before it is deleted
//	loss of its node                                  is replaced        as a disruption, if it fails before it is deleted
//	shutdown of its node                              is replaced        as a disruption
//	refusal by its node, which has no room left       is replaced        as a disruption
//	deletion by a user or another controller          is created again   not at all
type RestartPolicy string

const (
	RestartAlways    RestartPolicy = "Always"
	RestartOnFailure RestartPolicy = "OnFailure"
	RestartNever     RestartPolicy = "Never"
	RestartExitCode  RestartPolicy = "ExitCode"
)

// RestartPolicies returns the legal values, in the order in which messages name them.
func RestartPolicies() []string {
	return []string{string(RestartAlways), string(RestartOnFailure), string(RestartNever), string(RestartExitCode)}
}

// Pod returns the restart policy of the replica type's pods.
func (p RestartPolicy) Pod() string {
	if p == RestartExitCode {
		return string(RestartNever)
	}
	return string(p)
}

// CleanPodPolicy says which pods are deleted when a job has a terminal condition.
type CleanPodPolicy string

const (
	CleanAll     CleanPodPolicy = "All"     // all pods and all services
	CleanRunning CleanPodPolicy = "Running" // pods that run or wait, and their services
	CleanNone    CleanPodPolicy = "None"
)

// CleanPodPolicies returns the legal values, in the order in which messages name them.
func CleanPodPolicies() []string {
	return []string{string(CleanAll), string(CleanRunning), string(CleanNone)}
}

const (
	// MaxReplicas bounds the replicas of one job, all replica types together. It is far above what an API
	// server can handle for one job, and bounds all loops over replicas.
	MaxReplicas = 20000
	// ManagedByUs is the value of spec.runPolicy.managedBy that names this operator.
	ManagedByUs = "kubeflow.org/training-operator"
	// ManagedByMultiKueue names the only other controller that the API allows.
	ManagedByMultiKueue = "kueue.x-k8s.io/multikueue"
)
