package apply

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"stoic/controller/serve"
	"stoic/internal/lean"
	"stoic/schema"
)

// Class is what an error means for the key that it belongs to.
//
//	error of the API server                      class
//	none                                         Done
//	404 on what was to be changed or deleted     Done     it is gone; its deletion is an event
//	404 on a subresource of what exists          Refused  its CRD does not have it; the user gets an event
//	namespace being deleted, or gone             Done     the deletion of the object will be an event
//	the same of a namespace that is not the      Refused  nothing reports when that changes; the user gets an event
//	object's own
//	404 on a creation                            Retry    with back-off; the user gets an event. A webhook lacks
//	                                                      something, or the resource is no longer served; no watch
//	                                                      event reports its return
//	a plan that contradicts itself               Refused  it stays so until the object, or the operator, changes
//	400, 405, 413, 422, a name that is taken     Refused  the request stays wrong until something is changed;
//	                                                      the user gets an event
//	403                                          Retry    with back-off; the user gets an event. What is missing
//	                                                      (quota, service account, permission) often appears a
//	                                                      moment later
//	409, 429, 5xx, network, timeout, panic       Retry    with back-off
//	caches older than our own writes             Behind   no failure and no success: wait for the event
type Class int

const (
	Done Class = iota
	Behind
	Refused
	Retry
)

// What fails until the cluster is changed is first retried after FirstRefused, as a change may be about to come, and in the end every
// LastRefused.
const (
	// FirstBackOff is where the exponential back-off of what is retried begins; see LongestBackOff for its end, and costly for creations
	// that occupy the API server for long.
	FirstBackOff = 50 * time.Millisecond
	FirstRefused = 10 * time.Second
	LastRefused  = 5 * time.Minute
	// longestTrouble: see LongestBackOff. However many keys wait, the client's rate then bounds their requests.
	longestTrouble = 8 * time.Second
)

var (
	// ErrPanicked is what the error of a reconcile that panicked wraps; see PanicError.
	ErrPanicked = errors.New("the reconcile panicked")
	// ErrBehind is returned by a reconcile that waits for its caches.
	ErrBehind = errors.New("the caches are older than our own writes")
	// ErrUnreadable: a resource that the object must have cannot be read, so nothing is decided. When it can be read, all objects are
	// queued.
	ErrUnreadable = errors.New("a resource that the object owns cannot be read")
	// ErrContradiction: a plan cannot be carried out, so none of it is. Its operator has a defect.
	ErrContradiction = errors.New("the plan contradicts itself")
	// errUnrecorded and errStatusless: the status cannot be written anywhere, so nothing else is done.
	errUnrecorded = errors.New("the object is gone")
	errStatusless = errors.New("the CRD has no status subresource: nothing can be recorded, so nothing is done")
	// errOldOwner: a child of a deleted object of the same name still has the name. The deletion of that child is an event.
	errOldOwner = errors.New("the name is still taken by a child of a deleted object of the same name")
)

// notKeptError: an admission webhook or a policy removes an annotation, or a finalizer, again.
type notKeptError struct{ what string }

func (e *notKeptError) Error() string {
	return "the " + e.what + " is not kept: some admission webhook or policy removes it"
}

// PanicError is returned by a reconcile that panicked, in its own goroutine or in one that writes for it. The caller of reconciles counts and
// logs it.
type PanicError struct {
	Value any
	Stack []byte // of the goroutine that panicked
}

func (e *PanicError) Error() string { return fmt.Sprintf("%v: %v", ErrPanicked, e.Value) }

func (e *PanicError) Unwrap() error { return ErrPanicked }

// conflictError: a foreign object has the name of one of our children. It is reported and never touched.
type conflictError struct {
	object schema.Object
	owner  string // kind and name of the owner that needs the name: "PyTorchJob mnist"
	noun   string // what that is called: "job"
}

func (e *conflictError) Error() string {
	return fmt.Sprintf("%s %s/%s already exists and is not managed by %s; delete or rename it, or rename the %s",
		e.object.Resource.Kind, e.object.Namespace, e.object.Name, e.owner, e.noun)
}

// stuckError: a child of a deleted owner of the same name was deleted, and does not end. It wraps errOldOwner, and the user should know what
// the owner waits for.
type stuckError struct {
	object     schema.Object
	finalizers []string
	noun       string // what the owner is called
}

const (
	// stuckAfter is how long after its deletionTimestamp, which includes the grace period of a pod, a child counts as stuck.
	stuckAfter         = 30 * time.Second
	maxNamedFinalizers = 5
)

func (e *stuckError) Error() string {
	text := fmt.Sprintf("the %s of that name of a deleted %s still exists: it was deleted and does not end", e.object.Resource.Kind, e.noun)
	if len(e.finalizers) > 0 {
		text += "; finalizers keep it: " + strings.Join(e.finalizers, ", ")
	}
	return text
}

func (*stuckError) Unwrap() error { return errOldOwner }

// notSelectedError: a child of ours has lost a label by which children are selected. It exists, but no change of it is seen: without a
// report the user would wait for it forever.
type notSelectedError struct {
	object   schema.Object
	selector string
}

func (e *notSelectedError) Error() string {
	return fmt.Sprintf("%s %s/%s has lost its label %s and is not seen without it; put it back, or delete it",
		e.object.Resource.Kind, e.object.Namespace, e.object.Name, e.selector)
}

// elsewhereError: a child is to be created in a namespace that is not its owner's, and that is being deleted or does not exist. The owner
// is not deleted with that namespace, and no event follows when it is created: without a retry and a report the user would wait forever.
// The error does not unwrap, as the owner's namespace is not concerned.
type elsewhereError struct {
	object schema.Object
	err    error
}

func (e *elsewhereError) Error() string {
	return fmt.Sprintf("namespace %s does not exist, or is being deleted; create it, or choose another: %v",
		e.object.Namespace, e.err)
}

// noSubresourceError: the dependent exists, and its resource has no such subresource. No event follows from that.
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

// Unwrap returns the API server's answer.
func (e *writeError) Unwrap() error { return e.err }

// ClassOf returns the class of an error. It is the only place that sorts errors. Of joined errors the highest class counts: if any may
// succeed later, it is retried.
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

// IsDenied reports whether admission alone (a quota, a limit, a policy) is the reason for a retry: each error of class Retry is a 403
// that no role would have prevented. That concerns the owner of the object, not the operator's administrator.
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

// LongestBackOff returns the longest back-off after an error. A failure between us and the API server ends at the same moment for all
// objects: none should then wait for minutes. An error that concerns one object alone may wait longer.
func LongestBackOff(err error) time.Duration {
	var notKept *notKeptError
	if apierrors.IsForbidden(err) || apierrors.IsNotFound(err) || errors.Is(err, ErrPanicked) || errors.Is(err, errStatusless) || errors.As(err, &notKept) {
		return LastRefused
	}
	return longestTrouble
}

// isOutdated reports whether the object that was decided on is gone or has changed. The decision is then made again.
func isOutdated(err error) bool {
	return errors.Is(err, errUnrecorded) || errors.Is(err, ErrBehind) || apierrors.IsConflict(err)
}

// isTaken reports whether the name of this one object is taken. That says nothing of other objects.
func isTaken(err error) bool {
	return isForeign(err) || errors.Is(err, errOldOwner)
}

// isForeign reports whether the name is taken by an object that only its user can move out of the way.
func isForeign(err error) bool {
	var conflict *conflictError
	var notSelected *notSelectedError
	return errors.As(err, &conflict) || errors.As(err, &notSelected)
}

// isElsewhere reports whether the namespace does not accept the object, and is not that of its owner.
func isElsewhere(err error) bool {
	var elsewhere *elsewhereError
	return errors.As(err, &elsewhere)
}

// isWithoutSubresource reports whether the resource has no such subresource.
func isWithoutSubresource(err error) bool {
	var without *noSubresourceError
	return errors.As(err, &without)
}

func isCreation(err error) bool {
	var write *writeError
	return errors.As(err, &write) && write.verb == "create"
}

// isWebhookFailure reports whether a required admission webhook does not answer. The API server is well, so it may take long.
func isWebhookFailure(err error) bool {
	return apierrors.IsInternalError(err) && strings.Contains(err.Error(), webhookFails)
}

// isForAuthor reports whether the user can do something about the error, or should know why nothing happens. A transient failure between
// us and the API server does not concern the user.
func isForAuthor(err error) bool {
	var stuck *stuckError
	if isForeign(err) || isElsewhere(err) || isWithoutSubresource(err) || errors.As(err, &stuck) {
		return true
	}
	if lean.NamespaceGone(err) || errors.Is(err, errOldOwner) || errors.Is(err, context.DeadlineExceeded) {
		return false
	}
	var notKept *notKeptError
	return errors.Is(err, errStatusless) || errors.As(err, &notKept) || isWebhookFailure(err) || apierrors.IsInvalid(err) || apierrors.IsBadRequest(err) || apierrors.IsForbidden(err) ||
		apierrors.IsRequestEntityTooLargeError(err) || apierrors.IsMethodNotSupported(err) || apierrors.IsNotFound(err) && isCreation(err)
}
