package schema

import (
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// Plan is what to write, in the order of its fields: finalizers to add, status, annotations, events, deletions,
// patches, creations, finalizers to remove.
//
//	what fails           then
//	adding a finalizer   nothing else is done
//	the status           nothing else is done
//	the annotations      nothing is deleted, and finalizers stay, unless Annotate.BestEffort; if the object has changed
//	                     or is gone, nothing else is done
//	any of the rest      finalizers stay
type Plan struct {
	// Rule names the rule that decided, for logs and metrics. It is one of a few constants.
	Rule string
	// AddFinalizers are put on the object before anything that they guard is made.
	AddFinalizers []string
	// Status replaces the whole status; nil: it stays as it is. It is a pointer to a struct.
	Status any
	// Annotate is nil if the annotations stay as they are.
	Annotate *Annotate
	Events   []Event
	Delete   []Deletion
	Patch    []Patch
	// Create lists what to make, in order: objects of optional resources first, one by one, then all others.
	Create []Object
	// RemoveFinalizers are taken off when all else that was planned is done.
	RemoveFinalizers []string

	// Pending: there is a change that the status does not report yet, and it can wait until Requeue.
	Pending bool
	// Requeue is when to look again with no event to cause it; 0 means never.
	Requeue time.Duration
	// Summary says in a few words, for the log, what the status says: "Running PyTorchJobRunning"; "" if it says of the object
	// what it said before, and only counts differ. A status with a summary is one line in the log.
	Summary string
	// Count is what to count when the plan is carried out.
	Count []Count
}

// DeleteChild plans the deletion of a child, if it still is the one that was seen. One that is being deleted is left alone.
func (p *Plan) DeleteChild(r Resource, c *Child) {
	if !c.Deleting {
		p.Delete = append(p.Delete, c.Deletion(r))
	}
}

// Annotate sets annotations of the object itself. They hold what must be on record before dependents that prove it are
// deleted, and does not belong into a status, which may be wiped.
type Annotate struct {
	Values map[string]string
	// BestEffort: where the API server refuses the annotations for good, the planned deletions are carried out, and
	// finalizers removed, all the same.
	BestEffort bool
	// Refused is the event to emit where they are refused; the error is appended to its message.
	Refused Event
}

// Event is one sentence to the author of the object.
type Event struct {
	Type      string // Normal or Warning
	Reason    string
	FieldPath string // of the field that it is about, or empty
	Message   string // clean, at most 1024 bytes
	// Occasion tells two occurrences of the same sentence apart: a generation or the time of a transition. The same
	// event planned twice for the same occasion is emitted once.
	Occasion string
	// Key stands for the message where two occurrences are compared, for a sentence whose words change while its meaning does
	// not: it counts something, or names the first of many. Of one Reason, Occasion and Key one event is sent, in the words
	// that were planned last when it was sent; "": the message says it.
	Key string
	// Settle is how long the event waits for later words. It has a use only with a Key.
	Settle time.Duration
	// Count is what is counted when the event is sent; nil is nothing. Of an event that the API server has already, nothing is
	// counted, so that a restart counts nothing twice.
	Count *Count
	// AboutSpec: the event is about a problem of the spec. Such events of one namespace do not delay those about what
	// happens to its objects.
	AboutSpec bool
	// Since is when what it reports happened. It bounds for how long the event is worth sending.
	Since time.Time
}

// Deletion removes one object, if it still is the one that was seen.
type Deletion struct {
	Resource        Resource
	Namespace, Name string
	UID             types.UID
	// ResourceVersion is a further precondition; empty if the decision does not rest on the content of the object.
	ResourceVersion string
}

// Patch changes one object, if it still is as it was seen.
type Patch struct {
	Resource        Resource
	Namespace, Name string
	UID             types.UID
	ResourceVersion string
	Subresource     string // "status", or "" for the object itself
	// Follows are the resources whose children decide what the patch says. It is not sent before their caches have come as far as the
	// version of what is patched: children that are missing from an older one may be there.
	Follows []Resource
	Adopts  bool   // it makes the owner the controller of the object: see Candidate.Adopt
	Body    []byte // a JSON merge patch; it names UID and resourceVersion, too
}

// Count is one step of a counter of the operator's own.
type Count struct {
	Counter string
	Code    Code   // of the first problem, where one is counted
	Reason  string // of what an event reports, where one is counted: one of a few constants
	After   Stage  // without a meaning in an Event
	// Took is how long what is counted has taken, where that is measured; never negative.
	Took time.Duration
}

// Stage is what must have been written before something is counted.
type Stage int

const (
	AfterStatus      Stage = iota // the status was written
	AfterAnnotations              // the annotations were written
	AfterDeletion                 // the object itself was deleted
)
