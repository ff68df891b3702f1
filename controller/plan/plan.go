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
	// Extras are the other objects that it owns in that way. Unseen are the resources that may hold more of them.
	Extras []schema.StoredExtra
	Unseen []schema.Unseen

	Now time.Time
	// Recorded is when this process last wrote the status; zero if it never did, or does not remember.
	Recorded time.Time
	// Pending is since when this process has known of news that is not in the status and waits; zero if there is none.
	Pending time.Time
	// KeepsGeneration: the served schema keeps status.observedGeneration; otherwise its absence is no
	// reason to write.
	KeepsGeneration bool
}

// Plan is what to write, in this order: status, ledger, events, deletions, updates,
// creations. If the status cannot be written nothing else is done, if the ledger cannot be nothing is deleted.
type Plan struct {
	Status *schema.Status // nil: as it stands
	Ledger *schema.Ledger // nil: as it stands
	Events []Event
	Delete []Deletion
	Update []Update
	Create []schema.Object
	// Pending: there is news that the status does not tell yet, and it can wait until Recheck.
	Pending bool
	// Recheck is when to look again with no event to cause it; 0 means never.
	Recheck time.Duration
	// Count is what the counters are told when the plan is carried out: Restarted after the ledger was written,
	// Deleted after the deletions, all others after the status was.
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
	// Since is when what it tells of happened. It bounds for how long the event is worth sending.
	Since time.Time
}

// Deletion removes one object, if it is still the one that was seen.
type Deletion struct {
	Resource        schema.Resource
	Namespace, Name string
	UID             types.UID
}

// Update changes one object, if it is still as it was seen.
type Update struct {
	Resource        schema.Resource
	Namespace, Name string
	UID             types.UID
	ResourceVersion string
	// Patch is a JSON merge patch; it names UID and version, too.
	Patch []byte
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
