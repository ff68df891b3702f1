// Package plan answers one question: WHAT SHOULD HAPPEN?
//
// Make takes what was observed and returns what to write. It is pure: no client, context, clock, log,
// random number, goroutine; the order of a Go map never shows. Time is an observation; a wish to look
// again is Plan.Recheck.
//
//	head, job | rejection, pods, services, now  --Make-->  status, events, deletions, creations, recheck
//
// The decisions are an ordered list of small named rules; the first to speak decides.
package plan
