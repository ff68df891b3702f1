package plan

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"stoic/training"
)

// An object that is being deleted exists until its last finalizer is removed. Until then the status of a job that has begun
// follows its pods, and the job can still succeed or fail, but nothing is created, replaced, updated or scaled in.
//
//	finalizer of the object   the pods                       the plan
//	of another client         run on until they end          follows them; when the job is over, cleanPodPolicy applies
//	foregroundDeletion        are deleted before the object  follows them; nothing is written to the ledger, because the
//	                                                         object ends when the pods do
//	orphan                    survive the object             is empty
//
// The deletion raises the generation of the object. That alone is no reason for a write or an event.

// deleting applies to an object that is being deleted and has no status to follow.
func deleting(d *draft) bool {
	isUnknown := d.Head == nil || d.Job == nil && d.Rejection == nil
	d.silent = isUnknown || d.isBeingDeleted() && (!d.hasBegun() || d.hasFinalizer(metav1.FinalizerOrphanDependents))
	return d.silent
}

// departing handles a job that is being deleted and is neither over nor suspended. A failed pod is not replaced, so it does not
// change the conditions.
func departing(d *draft) bool {
	if !d.isBeingDeleted() {
		return false
	}
	d.runs = true
	d.tally()
	if !d.needsReplacement() && d.active() {
		d.setRunning()
	}
	d.requeueAtDeadline()
	return true
}

// isBeingDeleted reports whether the object has a deletionTimestamp.
func (d *draft) isBeingDeleted() bool { return d.Head.Meta.DeletionTimestamp != nil }

// losesPodsFirst reports whether garbage collection deletes the pods before the object.
func (d *draft) losesPodsFirst() bool {
	return d.isBeingDeleted() && d.hasFinalizer(metav1.FinalizerDeleteDependents)
}

func (d *draft) hasFinalizer(name string) bool { return slices.Contains(d.Head.Meta.Finalizers, name) }

// hasBegun reports whether the job was accepted before.
func (d *draft) hasBegun() bool {
	return d.wasAccepted() || d.Rejection == nil && d.status.Is(training.Created)
}

// needsReplacement reports whether a pod has failed that is replaced in a job that continues.
func (d *draft) needsReplacement() bool {
	return slices.ContainsFunc(d.replicas, func(r replica) bool { return failureActionOf(&r) == replaced })
}

// worthGeneration reports whether a new generation is recorded by a write of its own.
func (d *draft) worthGeneration() bool { return d.KeepsGeneration && !d.isBeingDeleted() }
