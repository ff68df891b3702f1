// Package plan answers one question: WHAT SHOULD HAPPEN?
//
// Make takes what was observed and returns what to write. It is pure: no client, context, clock, log,
// random number or goroutine, and the result does not depend on the order of Go maps. The time is part of the
// observation; Plan.Requeue requests another reconcile.
//
//	head, job | rejection, pods, services, dependents, now  --Make-->  status, annotations, events, deletions, patches, creations, requeue
//
// The decisions are an ordered list of small named rules; the first rule that applies decides. Start at rules.
//
//	make        the rules, in order              begin, suspend, limit, success, failure, finish, refuse
//	draft       what the rules read and write    order         which replica types wait for others
//	ledger      the record of restarts           successes     the record of replicas that succeeded
//	conditions  how conditions change            clean         what a finished job leaves behind
//	tally       counts of replicas               children      orphans and missing replicas
//	compare     which status is written          builder       the content of pods and services
//	debounce    how long a status may wait       template      splicing raw JSON
//	events      events for the user              problems      what keeps a pod from running
//	dependents  other objects than pods,         gang, native  pods that are placed together
//	            services                         batch         a launcher that is a batch/v1 Job
//	differ      when dependents are patched      departing     a job that is being deleted
//	waits       what a job waits for
//
// testdata shows whole jobs, reconcile by reconcile; go test -update rewrites the plans.
package plan
