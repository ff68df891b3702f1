package plan

import (
	"time"

	"k8s.io/apimachinery/pkg/types"

	"stoic/schema"
)

// Observed is all that a decision may depend on.
type Observed struct {
	Head      *schema.Head
	Job       *schema.Job       // exactly one of Job
	Rejection *schema.Rejection // and Rejection is set

	// Pods and Services are those whose controller owner is this very object (by UID), in any order.
	Pods     []schema.Pod
	Services []schema.Service

	Now time.Time
	// Domain is the cluster's DNS domain for host names, or empty.
	Domain string
	// KeepsGeneration: the served schema keeps status.observedGeneration; otherwise its absence is no
	// reason to write.
	KeepsGeneration bool
}

// Plan is what to write, in this order: status, events, deletions, creations. If the status cannot be
// written nothing else is done.
type Plan struct {
	Status *schema.Status // nil: as it stands
	Events []Event
	Delete []Deletion
	Create []schema.Object
	// Recheck is when to look again with no event to cause it; 0 means never.
	Recheck time.Duration
	// Count is what the counters are told when the plan is carried out: after Status was written, or if
	// there is none to write, after the deletions.
	Count []Count
}

// Event is one sentence to the author of the job.
type Event struct {
	Type      string // Normal or Warning
	Reason    string
	FieldPath string // of the field that it is about, or empty
	Message   string // clean, at most 1024 bytes
	// Occasion tells two occurrences of the same sentence apart: a generation or the time of a
	// transition. The same event planned twice for the same occasion is told once.
	Occasion string
}

// Deletion removes one object, if it is still the one that was seen.
type Deletion struct {
	Resource        schema.Resource
	Namespace, Name string
	UID             types.UID
}

// Count is one step of a counter.
type Count struct {
	Counter Counter
	Code    schema.Code // of the first problem, for Rejected
}

type Counter string

const (
	CountCreated   Counter = "created"
	CountDeleted   Counter = "deleted"
	CountSucceeded Counter = "successful"
	CountFailed    Counter = "failed"
	CountRestarted Counter = "restarted"
	CountRejected  Counter = "rejected"
)
