package controller

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"stoic/schema"
)

// answer is what an error means for the key that it belongs to.
//
//	error of the API server                      answer
//	none                                         done
//	404 on what was to be changed, namespace     done   it is gone, or going; its end will be an event
//	  being deleted
//	400, 405, 413, 422, a name that is taken     probe  the request is wrong and stays so until somebody
//	                                                    changes something; the author has been told
//	403                                          retry  with back-off; the author has been told. What is missing
//	                                                    (quota, service account, permission) often comes a
//	                                                    moment later
//	409, 429, 5xx, network, timeout, panic       retry  with back-off
//	caches older than our own writes             behind no failure and no success: wait for the event
type answer int

const (
	done answer = iota
	behind
	probe
	retry
)

// Something that will fail until somebody changes the world is tried again after firstProbe, as they may be about to, and
// at last every slowProbe.
const (
	firstProbe = 10 * time.Second
	slowProbe  = 5 * time.Minute
	// longestTrouble: see longest. However many keys wait, what they ask for then is bounded by the client's own rate.
	longestTrouble = 8 * time.Second
)

var (
	errPanicked = errors.New("the pass panicked")
	errBehind   = errors.New("the caches are older than our own writes")
	// errUnrecorded and errStatusless: the status has no place to be written to. Nothing else is done then.
	errUnrecorded = errors.New("the object is gone")
	errStatusless = errors.New("the CRD has no status subresource: nothing can be recorded, so nothing is done")
	// errUnkept: something in the API server takes annotations away again.
	errUnkept = errors.New("the annotation " + schema.AnnotationLedger + " is not kept: some admission webhook or policy removes it")
	// errOldOwner: the name is still taken by a child of a deleted job of the same name. Its end is an event.
	errOldOwner = errors.New("the name is still taken by a child of a deleted job of the same name")
)

// conflictError: a foreign object has the name of one of our children. It is told and never touched.
type conflictError struct{ object schema.Object }

func (e *conflictError) Error() string {
	return fmt.Sprintf("%s %s/%s exists and belongs to somebody else; delete or rename it, or rename the job",
		e.object.Resource.Kind, e.object.Namespace, e.object.Name)
}

// unseenError: a child of ours has lost the label by which children are selected. It lives, but whatever becomes of
// it is not seen: without a word to its author the job would wait for it for ever.
type unseenError struct {
	object   schema.Object
	operator string // the label's value
}

func (e *unseenError) Error() string {
	return fmt.Sprintf("%s %s/%s has lost its label %s=%s and is not seen without it; put it back, or delete it",
		e.object.Resource.Kind, e.object.Namespace, e.object.Name, schema.LabelOperator, e.operator)
}

// writeError is a write of a child that failed.
type writeError struct {
	verb     string // create or delete
	resource schema.Resource
	name     string
	err      error
}

func (e *writeError) Error() string {
	return e.verb + " " + e.resource.Kind + " " + e.name + ": " + e.err.Error()
}

func (e *writeError) Unwrap() error { return e.err }

// sortError sorts errors, here and nowhere else. Of several errors the most hopeful counts: what can succeed is
// tried again.
func sortError(err error) answer {
	if err == nil {
		return done
	}
	if many, ok := err.(interface{ Unwrap() []error }); ok {
		worst := done
		for _, e := range many.Unwrap() {
			worst = max(worst, sortError(e))
		}
		return worst
	}
	switch {
	case isForeign(err):
		return probe
	case errors.Is(err, errBehind):
		return behind
	case isNamespaceGoing(err), apierrors.IsNotFound(err):
		return done
	case apierrors.IsInvalid(err), apierrors.IsBadRequest(err), apierrors.IsRequestEntityTooLargeError(err),
		apierrors.IsMethodNotSupported(err):
		return probe
	}
	return retry
}

// longest is where the back-off after an error ends. Trouble between us and the API server ends all at once and for
// everybody: nobody shall wait for minutes after that. What concerns one object alone may take its time.
func longest(err error) time.Duration {
	if apierrors.IsForbidden(err) || errors.Is(err, errPanicked) || errors.Is(err, errStatusless) || errors.Is(err, errUnkept) {
		return slowProbe
	}
	return longestTrouble
}

// isTaken: the name of this one object is taken. That says nothing of others.
func isTaken(err error) bool {
	return isForeign(err) || errors.Is(err, errOldOwner)
}

// isForeign: it is taken by something that only its author can move out of the way.
func isForeign(err error) bool {
	var conflict *conflictError
	var unseen *unseenError
	return errors.As(err, &conflict) || errors.As(err, &unseen)
}

func isNamespaceGoing(err error) bool {
	return apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause)
}

// worthTelling: the author can do something about it, or should know why nothing happens. Passing trouble
// between us and the API server is not news for the author of a job.
func worthTelling(err error) bool {
	if isForeign(err) {
		return true
	}
	if isNamespaceGoing(err) || errors.Is(err, errOldOwner) || errors.Is(err, context.DeadlineExceeded) {
		return false
	}
	return errors.Is(err, errStatusless) || errors.Is(err, errUnkept) || apierrors.IsInvalid(err) || apierrors.IsBadRequest(err) || apierrors.IsForbidden(err) ||
		apierrors.IsRequestEntityTooLargeError(err)
}
