// Package cases tries cases on a real control plane: one run of one object with one act at one point of it.
//
//	table.go    all cases: which acts at which points, by goal
//	stage.go    a control plane with the operator's CRDs and permissions, and sandboxes on it
//	sandbox.go  one operator behind a proxy, in its own namespace
//	attempt.go  one case being tried and judged
//
// Each scenario first runs twice without faults; the result is the reference of its cases.
package cases
