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
//	400, 413, 422                                probe  the request is wrong and stays so until somebody
//	403 without quota                                   changes something; the author has been told
//	403 quota exceeded                           retry  with back-off; the author has been told
//	409, 429, 5xx, network, timeout, panic       retry  with back-off
type answer int

const (
	done answer = iota
	probe
	retry
)

// slowProbe is how often something is tried that will fail until somebody changes the world.
const slowProbe = 5 * time.Minute

var (
	errPanicked = errors.New("the pass panicked")
	// errOldOwner: the name is still taken by a child of a deleted job of the same name. Its end is an event.
	errOldOwner = errors.New("the name is still taken by a child of a deleted job of the same name")
)

// conflictError: a foreign object has the name of one of our children. It is told and never touched.
type conflictError struct{ object schema.Object }

func (e *conflictError) Error() string {
	return fmt.Sprintf("%s %s/%s exists and belongs to somebody else", e.object.Resource.Kind, e.object.Namespace, e.object.Name)
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
	var conflict *conflictError
	switch {
	case errors.As(err, &conflict):
		return probe
	case isNamespaceGoing(err), apierrors.IsNotFound(err):
		return done
	case apierrors.IsInvalid(err), apierrors.IsBadRequest(err), apierrors.IsRequestEntityTooLargeError(err),
		apierrors.IsMethodNotSupported(err):
		return probe
	case apierrors.IsForbidden(err) && !isQuota(err):
		return probe
	}
	return retry
}

func isNamespaceGoing(err error) bool {
	return apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause)
}

// isQuota: the quota admission plugin has no cause of its own, only its sentence.
func isQuota(err error) bool {
	var status apierrors.APIStatus
	return errors.As(err, &status) && apierrors.IsForbidden(err) && containsFold(status.Status().Message, "exceeded quota")
}

// worthTelling: the author can do something about it, or should know why nothing happens. Passing trouble
// between us and the API server is not news for the author of a job.
func worthTelling(err error) bool {
	var conflict *conflictError
	if errors.As(err, &conflict) {
		return true
	}
	if isNamespaceGoing(err) || errors.Is(err, errOldOwner) || errors.Is(err, context.DeadlineExceeded) {
		return false
	}
	return apierrors.IsInvalid(err) || apierrors.IsBadRequest(err) || apierrors.IsForbidden(err) ||
		apierrors.IsRequestEntityTooLargeError(err)
}
