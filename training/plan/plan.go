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
	// Dependents are the other objects whose controller owner is the object. Unavailable are resources that may hold more of them.
	Dependents  []training.StoredDependent
	Unavailable []training.Unavailable

	// Priorities are those of the cluster's priority classes; nil if they are unknown or not needed.
	Priorities training.Priorities

	Now time.Time
	// WrittenAt is when this process last wrote the status; zero if it never did, or no longer knows.
	WrittenAt time.Time
	// PendingSince is when this process first saw a change that is not in the status yet; zero if there is none.
	PendingSince time.Time
	// KeepsGeneration: the served schema keeps status.observedGeneration; otherwise its absence causes no write.
	KeepsGeneration bool
}

// Plan is what to write, in this order: status, ledger, events, deletions, patches,
// creations. If the status cannot be written, nothing else is done. If the ledger cannot be written, nothing is deleted.
type Plan struct {
	Status *training.Status // nil: as it stands
	Ledger *training.Ledger // nil: as it stands
	Events []Event
	Delete []Deletion
	Patch  []Patch
	Create []schema.Object
	// Pending: a change of the status is not written yet and can wait until Requeue.
	Pending bool
	// Requeue is the delay until the next reconcile if no event causes one earlier; 0 means none.
	Requeue time.Duration
	// Count is what is counted when the plan is executed: CountRestarted after the ledger is written,
	// CountDeleted after the deletions, all others after the status is written.
	Count []Count
}

// Event, Deletion and Patch are the types of the engine.
type (
	Event    = schema.Event
	Deletion = schema.Deletion
	Patch    = schema.Patch
)

// Count is one increment of a counter.
type Count struct {
	Counter Counter
	Code    schema.Code // of the first problem, for Rejected
	// Took is, for CountStarted, how long the job waited until it ran; for CountSucceeded and CountFailed, how long it ran.
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
