// Package plan answers one question: WHAT SHOULD HAPPEN?
//
// Make takes what was observed and returns what to write. It is pure: no client, context, clock, log,
// random number, goroutine; the order of a Go map never shows. Time is an observation; a wish to look
// again is Plan.Requeue.
//
//	head, job | rejection, pods, services, dependents, now  --Make-->  status, events, deletions, patches, creations, requeue
//
// The decisions are an ordered list of small named rules; the first to speak decides. Start at rules.
//
//	make        the rules, in order              begin, suspend, limit, success, failure, finish, refuse
//	draft       what the rules read and write    order         which replica types wait for others
//	ledger      what is on record of restarts    successes     which replicas are on record as succeeded
//	conditions  the algebra of conditions        clean         what a finished job leaves behind
//	tally       counts of replicas               children      orphans and missing replicas
//	compare     what is worth a write            builder       what a pod and a service look like
//	debounce    what can wait for another write  template      splicing raw JSON
//	events      sentences to the author          problems      what keeps a pod from running
//	dependents  objects beside pods, services    gang, native  pods that are placed together
//	differ      which of them is worth a patch   batch         a launcher that is a batch/v1 Job
//
// Stories of whole jobs, reconcile by reconcile, are in testdata; go test -update writes the plans again.
package plan
