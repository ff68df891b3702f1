// Package plan answers one question: WHAT SHOULD HAPPEN?
//
// Make takes what was observed and returns what to write. It is pure: no client, context, clock, log,
// random number, goroutine; the order of a Go map never shows. Time is an observation; a wish to look
// again is Plan.Requeue.
//
//	head, job | rejection, pods, services, extras, now  --Make-->  status, events, deletions, updates, creations, recheck
//
// The decisions are an ordered list of small named rules; the first to speak decides. Start at rules.
//
//	make        the rules, in order            begin, suspend, limit, success, one rule or two each
//	draft       what the rules read and write  failure, finish, refuse
//	ledger      what is on record of restarts
//	conditions  the algebra of conditions      clean       what a finished job leaves behind
//	tally       counts of replicas             children    orphans and missing replicas
//	compare     what is worth a write          builder    what a pod and a service look like
//	debounce        what can wait for it
//	tell        events                         template    splicing raw JSON
//	extra       objects beside those           gang        pods that are placed together
//	differ      what of them is worth a write
//
// Stories of whole jobs, reconcile by reconcile, are in testdata; go test -update writes the plans again.
package plan
