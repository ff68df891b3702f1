// Package limit answers one question: how cheap could an operator be that does nothing but what it cannot do without?
//
// Its client makes the same pods and services as Stoic, writes the status twice (Running, then the terminal condition) and replaces
// pods that fail with a retryable code, or vanish. It checks nothing, survives nothing and tells nobody: no events, no
// retries, no memory of anything that it did before it was started. What it costs is the least that is possible; an
// operator's costs are compared with it.
//
// It is parallel as Stoic is by default: eight jobs at a time, sixteen requests of each.
package limit
