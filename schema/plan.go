package schema

import (
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// Plan is what to write. The engine writes in this order: finalizers to add, status, annotations, events, deletions, patches,
// creations, finalizers to remove.
//
//	what fails           then
//	adding a finalizer   nothing else is done
//	the status           nothing else is done
//	the annotations      nothing is deleted, and finalizers stay, unless Annotate.BestEffort; if the object has changed
//	                     or no longer exists, nothing else is done
//	any of the rest      finalizers stay
type Plan struct {
	// Rule names the rule that decided, for logs and metrics. It is one of a few constants.
	Rule string
	// AddFinalizers are added to the object before anything that they guard is created.
	AddFinalizers []string
	// Status replaces the whole status; nil leaves it unchanged. It is a pointer to a struct.
	Status any
	// Annotate is nil if the annotations do not change.
	Annotate *Annotate
	Events   []Event
	Delete   []Deletion
	Patch    []Patch
	// Create lists what to create, in order: objects of optional resources first, one by one, then all others.
	Create []Object
	// RemoveFinalizers are removed when all other writes of the plan are done.
	RemoveFinalizers []string

	// Pending: there is a change that the status does not report yet, and it can wait until Requeue.
	Pending bool
	// Requeue is after what time to reconcile again without an event; 0 means never. A plan that creates, patches and deletes nothing is
	// looked at again after 100 ms at the earliest, and so is one whose time is negative.
	Requeue time.Duration
	// Summary says in a few words, for the log, what the status says: "Running PyTorchJobRunning". It is "" if the status says the
	// same as before and only counts differ. A status with a summary is one line in the log.
	Summary string
	// Count is what to count when the plan is carried out.
	Count []Count
}

// DeleteChild plans the deletion of a child, with its UID as a precondition. It plans nothing for a child that is being deleted.
func (p *Plan) DeleteChild(r Resource, c *Child) {
	if !c.Deleting {
		p.Delete = append(p.Delete, c.Deletion(r))
	}
}

// Annotate sets annotations of the object itself. They record facts that only dependents prove, before these are deleted. Such
// facts do not belong in a status, which may be wiped.
type Annotate struct {
	Values map[string]string
	// BestEffort: if the API server refuses the annotations for good, the planned deletions and removals of finalizers are
	// nevertheless carried out.
	BestEffort bool
	// Refused is the event to emit if they are refused. The error is appended to its message.
	Refused Event
}

// Event is one sentence to the user who wrote the object.
type Event struct {
	Type      string // Normal or Warning
	Reason    string
	FieldPath string // of the field that it is about, or empty
	Message   string // clean, at most 1024 bytes
	// Occasion distinguishes two occurrences of the same sentence: a generation or the time of a transition. The same event planned
	// twice for the same occasion is emitted once.
	Occasion string
	// Key replaces the message where two occurrences are compared; "" compares the message. It is for a sentence whose words change
	// while its meaning does not: it counts something, or names the first of many. One event is sent for each Reason, Occasion and
	// Key, in the words that were planned last.
	Key string
	// Settle is how long the event waits for later words. It has an effect only with a Key.
	Settle time.Duration
	// Count is counted when the event is sent; nil counts nothing. Nothing is counted for an event that the API server already has,
	// so a restart counts nothing twice.
	Count *Count
	// AboutSpec: the event is about a problem of the spec. Such events do not delay events of the same namespace about what happens
	// to its objects.
	AboutSpec bool
	// Since is when the reported change happened. It bounds for how long the event is worth sending.
	Since time.Time
}

// Deletion deletes one object, with its UID as a precondition.
type Deletion struct {
	Resource        Resource
	Namespace, Name string
	UID             types.UID
	// ResourceVersion is a further precondition. It is empty if the decision does not depend on the content of the object.
	ResourceVersion string
}

// Patch changes one object, with its UID and resourceVersion as preconditions.
type Patch struct {
	Resource        Resource
	Namespace, Name string
	UID             types.UID
	ResourceVersion string
	Subresource     string // "status", or "" for the object itself
	// Follows are the resources whose children decide what the patch says. The patch is not sent before their caches have reached
	// the resourceVersion of the patched object: an older cache may lack children that exist.
	Follows []Resource
	Adopts  bool   // it makes the owner the controller of the object: see Candidate.Adopt
	Body    []byte // a JSON merge patch; it names UID and resourceVersion, too
}

// Count is one step of a counter that the operator defines.
type Count struct {
	Counter string
	Code    Code   // of the first problem, where one is counted
	Reason  string // of what an event reports, where one is counted: one of a few constants
	After   Stage  // without a meaning in an Event
	// Took is how long the counted operation took, where that is measured; never negative.
	Took time.Duration
}

// Stage is what must have been written before something is counted.
type Stage int

const (
	AfterStatus      Stage = iota // the status was written
	AfterAnnotations              // the annotations were written
	AfterDeletion                 // the object itself was deleted
)
