package plan

import (
	"time"

	"stoic/schema"
	"stoic/training"
)

// Observed is all that a decision may depend on.
type Observed struct {
	Head      *training.Head
	Job       *training.Job       // exactly one of Job
	Rejection *training.Rejection // and Rejection is set

	// Pods and Services are those whose controller owner is this very object (by UID), in any order.
	Pods     []training.Pod
	Services []training.Service
	// BatchJobs are its batch/v1 Jobs, and BatchPods the pods that these have made.
	BatchJobs []training.BatchJob
	BatchPods []training.Pod
	// Dependents are the other objects that it owns in that way. Unavailable are the resources that may hold more of them.
	Dependents  []training.StoredDependent
	Unavailable []training.Unavailable

	// Priorities are those of the cluster's priority classes; nil if they are not known, or not asked for.
	Priorities training.Priorities

	Now time.Time
	// WrittenAt is when this process last wrote the status; zero if it never did, or does not remember.
	WrittenAt time.Time
	// PendingSince is since when this process has known of a change that is not in the status and waits; zero if there is none.
	PendingSince time.Time
	// KeepsGeneration: the served schema keeps status.observedGeneration; otherwise its absence is no
	// reason to write.
	KeepsGeneration bool
}

// Plan is what to write, in this order: status, ledger, events, deletions, updates,
// creations. If the status cannot be written nothing else is done, if the ledger cannot be nothing is deleted.
type Plan struct {
	Status *training.Status // nil: as it stands
	Ledger *training.Ledger // nil: as it stands
	Events []Event
	Delete []Deletion
	Patch  []Patch
	Create []schema.Object
	// Pending: there is a change that the status does not have yet, and it can wait until Requeue.
	Pending bool
	// Requeue is when to look again with no event to cause it; 0 means never.
	Requeue time.Duration
	// Count is what is counted when the plan is carried out: Restarted after the ledger was written,
	// Deleted after the deletions, all others after the status was.
	Count []Count
}

// Event, Deletion and Update are the engine's.
type (
	Event    = schema.Event
	Deletion = schema.Deletion
	Patch    = schema.Patch
)

// Count is one step of a counter.
type Count struct {
	Counter Counter
	Code    schema.Code // of the first problem, for Rejected
	// Took, for Started, is how long the job has waited until it runs, and for Succeeded and Failed how long it has run.
	Took time.Duration
}

type Counter string

const (
	CountCreated   Counter = "created"
	CountStarted   Counter = "started" // it runs, for the first time or the first since it was resumed
	CountDeleted   Counter = "deleted"
	CountSucceeded Counter = "successful"
	CountFailed    Counter = "failed"
	CountRestarted Counter = "restarted"
	CountRejected  Counter = "rejected"
	CountProblem   Counter = "problem" // of pods, in an event
)
