// Package apply answers one question: HOW IS A PLAN WRITTEN?
//
// An Applier carries out the plans of one watch. Every write is conditional and repeatable: a crash between any two
// leaves a state from which the same plan follows again.
//
//	applier       the order: finalizers, status, annotations, events, deletions, patches, creations, finalizers
//	contradiction what makes a plan impossible
//	verify        is the plan based on the present?
//	object        what is written to the object itself
//	children      what is deleted, patched and created beside it; what AlreadyExists means
//	claims        no child is adopted by an owner that may be gone
//	generate      fields that exist only in the request, such as keys
//	api           single requests
//	errors        what an error means: retry, refused, behind, done
//	limiter       how many creations are under way at once
//	sentences     the events about writes
//
// What is remembered of earlier answers, so that no request is repeated in vain:
//
//	memory        by object, until it is gone; of five kinds:
//	negative      writes of dependents without result
//	pruning       statuses that the schema of a CRD does not keep
//	terminating   creations in a namespace that is being deleted
//	costly        creations that occupied the API server for long
//	refusals      what the next decision sees of refused creations
//	cautious      by namespace: the next object there begins with one creation
package apply
