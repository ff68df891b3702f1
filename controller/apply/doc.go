// Package apply answers one question: HOW IS A PLAN WRITTEN?
//
// An Applier carries out the plans of one watch. Every write is conditional and repeatable: a crash between any two
// leaves a state from which the same plan follows again.
//
//	applier       the order: finalizers, status, annotations, events, deletions, patches, creations, finalizers
//	verify        is the plan based on the present?
//	object        what is written to the object itself
//	children      what is deleted, patched and created beside it; what AlreadyExists means
//	api           single requests
//	errors        what an error means: retry, refused, behind, done
//	limiter       how many creations are under way at once
//	negative      writes without result are not repeated immediately
//	pruning       nor is a status that the schema of a CRD does not keep
//	terminating   nothing is created in a namespace that is being deleted
//	costly        nor for an object whose creations occupied the API server in vain, for a while
//	sentences     the events about writes
package apply
