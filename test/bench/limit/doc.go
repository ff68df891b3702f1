// Package limit answers one question: how cheap could an operator be that does only what is indispensable?
//
// Its client creates the same pods and services as Stoic, writes the status twice (Running, then the terminal condition) and replaces pods
// that fail with a retryable code, or disappear. It checks nothing, survives nothing and reports nothing: no events, no retries, no memory
// of anything that it did before it was started. Its cost is the lowest possible; an operator's cost is compared with it.
//
// It works in parallel like Stoic by default: eight jobs at a time, sixteen requests of each.
package limit
