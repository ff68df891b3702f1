package apply

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"stoic/controller/lean"
	"stoic/controller/serve"
	"stoic/schema"
)

// Class is what an error means for the key that it belongs to.
//
//	error of the API server                      class
//	none                                         Done
//	404 on what was to be changed or deleted     Done     it is gone; its end will be an event
//	404 on a subresource of what is there        Refused  its CRD does not have it; the author gets an event
//	namespace being deleted, or gone             Done     the end of the object will be an event
//	the same of a namespace that is not the      Refused  nothing says when that changes; the author gets an event
//	object's own
//	404 on a creation                            Retry    with back-off; the author gets an event. A webhook or a
//	                                                      resource that went lacks something; no watch event brings
//	                                                      it back
//	a plan that contradicts itself               Refused  it stays so until the object, or the operator, changes
//	400, 405, 413, 422, a name that is taken     Refused  the request is wrong and stays so until somebody changes
//	                                                      something; the author gets an event
//	403                                          Retry    with back-off; the author gets an event. What is missing
//	                                                      (quota, service account, permission) often comes a moment
//	                                                      later
//	409, 429, 5xx, network, timeout, panic       Retry    with back-off
//	caches older than our own writes             Behind   no failure and no success: wait for the event
type Class int

const (
	Done Class = iota
	Behind
	Refused
	Retry
)

// What will fail until the cluster is changed is retried after FirstRefused, as a change may be about to come, and at last
// every LastRefused.
const (
	// FirstBackOff is where the exponential back-off of what is retried begins; see LongestBackOff for its end.
	FirstBackOff = 50 * time.Millisecond
	FirstRefused = 10 * time.Second
	LastRefused  = 5 * time.Minute
	// longestTrouble: see LongestBackOff. However many keys wait, what they request then is bounded by the client's rate.
	longestTrouble = 8 * time.Second
)

var (
	// ErrPanicked is what a reconcile that panicked returns.
	ErrPanicked = errors.New("the reconcile panicked")
	// ErrBehind: a reconcile waits for its caches.
	ErrBehind = errors.New("the caches are older than our own writes")
	// ErrUnreadable: a resource that the object must have cannot be read, so nothing is decided. When it can, all objects
	// are queued.
	ErrUnreadable = errors.New("a resource that the object owns cannot be read")
	// ErrContradiction: a plan cannot be carried out, so none of it is. Its operator has a defect.
	ErrContradiction = errors.New("the plan contradicts itself")
	// errUnrecorded and errStatusless: the status has no place to be written to. Nothing else is done then.
	errUnrecorded = errors.New("the object is gone")
	errStatusless = errors.New("the CRD has no status subresource: nothing can be recorded, so nothing is done")
	// errOldOwner: the name is still taken by a child of a deleted object of the same name. Its end is an event.
	errOldOwner = errors.New("the name is still taken by a child of a deleted object of the same name")
)

// notKeptError: an admission webhook or a policy takes an annotation, or a finalizer, away again.
type notKeptError struct{ what string }

func (e *notKeptError) Error() string {
	return "the " + e.what + " is not kept: some admission webhook or policy removes it"
}

// conflictError: a foreign object has the name of one of our children. It is reported and never touched.
type conflictError struct {
	object schema.Object
	owner  string // kind and name of the one that wants it: "PyTorchJob mnist"
	noun   string // what that is called: "job"
}

func (e *conflictError) Error() string {
	return fmt.Sprintf("%s %s/%s already exists and is not managed by %s; delete or rename it, or rename the %s",
		e.object.Resource.Kind, e.object.Namespace, e.object.Name, e.owner, e.noun)
}

// notSelectedError: a child of ours has lost a label by which children are selected. It exists, but no change of it is seen:
// without a report its author would wait for it forever.
type notSelectedError struct {
	object   schema.Object
	selector string
}

func (e *notSelectedError) Error() string {
	return fmt.Sprintf("%s %s/%s has lost its label %s and is not seen without it; put it back, or delete it",
		e.object.Resource.Kind, e.object.Namespace, e.object.Name, e.selector)
}

// elsewhereError: the namespace that a child is to be created in is not that of its owner, and is being deleted, or not
// there. The end of the owner does not follow from that, nor does any event when the namespace comes: without a retry and a
// report its author would wait for it forever. It does not unwrap: it is not the end of the owner's namespace.
type elsewhereError struct {
	object schema.Object
	err    error
}

func (e *elsewhereError) Error() string {
	return fmt.Sprintf("namespace %s does not exist, or is being deleted; create it, or choose another: %v",
		e.object.Namespace, e.err)
}

// noSubresourceError: the dependent is there, and its resource has no such subresource. No event follows from that.
type noSubresourceError struct{ patch schema.Patch }

func (e *noSubresourceError) Error() string {
	return fmt.Sprintf("the API server serves no subresource %s of %s; its CRD must have it", e.patch.Subresource, e.patch.Resource.Plural)
}

// writeError is a write of a child that failed.
type writeError struct {
	verb     string // create, update or delete
	resource schema.Resource
	name     string
	err      error
}

func (e *writeError) Error() string {
	return e.verb + " " + e.resource.Kind + " " + e.name + ": " + e.err.Error()
}

// Unwrap is the API server's answer.
func (e *writeError) Unwrap() error { return e.err }

// ClassOf sorts errors, here and nowhere else. Of several errors the most hopeful counts: what can succeed is retried.
func ClassOf(err error) Class {
	if err == nil {
		return Done
	}
	if many, ok := err.(interface{ Unwrap() []error }); ok {
		worst := Done
		for _, e := range many.Unwrap() {
			worst = max(worst, ClassOf(e))
		}
		return worst
	}
	switch {
	case isForeign(err), isElsewhere(err), isWithoutSubresource(err), errors.Is(err, ErrUnreadable), errors.Is(err, ErrContradiction):
		return Refused
	case errors.Is(err, ErrBehind):
		return Behind
	case lean.NamespaceGone(err):
		return Done
	case apierrors.IsNotFound(err) && !isCreation(err):
		return Done
	case apierrors.IsInvalid(err), apierrors.IsBadRequest(err), apierrors.IsRequestEntityTooLargeError(err),
		apierrors.IsMethodNotSupported(err):
		return Refused
	}
	return Retry
}

// IsDenied tells whether admission alone (a quota, a limit, a policy) is why there is something to retry: each error of the class
// Retry is a 403 that no role would have prevented. That is the affair of who owns the object, not of who runs the operator.
func IsDenied(err error) bool {
	if ClassOf(err) != Retry {
		return false
	}
	switch e := err.(type) {
	case interface{ Unwrap() []error }:
		for _, one := range e.Unwrap() {
			if ClassOf(one) == Retry && !IsDenied(one) {
				return false
			}
		}
		return true
	case interface{ Unwrap() error }:
		return IsDenied(e.Unwrap())
	}
	_, _, missing := serve.MissingRight(err.Error())
	return apierrors.IsForbidden(err) && !missing
}

// LongestBackOff is where the back-off after an error ends. Trouble between us and the API server ends all at once and for
// all objects: none shall wait for minutes after that. What concerns one object alone may take its time.
func LongestBackOff(err error) time.Duration {
	var notKept *notKeptError
	if apierrors.IsForbidden(err) || apierrors.IsNotFound(err) || errors.Is(err, ErrPanicked) || errors.Is(err, errStatusless) || errors.As(err, &notKept) {
		return LastRefused
	}
	return longestTrouble
}

// isOutdated: the object that was decided on is gone, or has changed. The decision is made again.
func isOutdated(err error) bool {
	return errors.Is(err, errUnrecorded) || errors.Is(err, ErrBehind) || apierrors.IsConflict(err)
}

// isTaken: the name of this one object is taken. That says nothing of others.
func isTaken(err error) bool {
	return isForeign(err) || errors.Is(err, errOldOwner)
}

// isForeign: it is taken by an object that only its author can move out of the way.
func isForeign(err error) bool {
	var conflict *conflictError
	var notSelected *notSelectedError
	return errors.As(err, &conflict) || errors.As(err, &notSelected)
}

// isElsewhere: it has no namespace that is not that of its owner.
func isElsewhere(err error) bool {
	var elsewhere *elsewhereError
	return errors.As(err, &elsewhere)
}

// isWithoutSubresource: the resource has no subresource of that name.
func isWithoutSubresource(err error) bool {
	var without *noSubresourceError
	return errors.As(err, &without)
}

func isCreation(err error) bool {
	var write *writeError
	return errors.As(err, &write) && write.verb == "create"
}

// isWebhookFailure: an admission webhook that must be asked does not answer. The API server is well, so it may take long.
func isWebhookFailure(err error) bool {
	return apierrors.IsInternalError(err) && strings.Contains(err.Error(), webhookFails)
}

// isForAuthor: the author of the object can do something about it, or should know why nothing happens. Transient trouble
// between us and the API server is none of the author's business.
func isForAuthor(err error) bool {
	if isForeign(err) || isElsewhere(err) || isWithoutSubresource(err) {
		return true
	}
	if lean.NamespaceGone(err) || errors.Is(err, errOldOwner) || errors.Is(err, context.DeadlineExceeded) {
		return false
	}
	var notKept *notKeptError
	return errors.Is(err, errStatusless) || errors.As(err, &notKept) || isWebhookFailure(err) || apierrors.IsInvalid(err) || apierrors.IsBadRequest(err) || apierrors.IsForbidden(err) ||
		apierrors.IsRequestEntityTooLargeError(err) || apierrors.IsMethodNotSupported(err) || apierrors.IsNotFound(err) && isCreation(err)
}
