// Package decision compares the plans of an operator with golden archives: each has an object, what it owns, and the plan for it.
//
// It is for tests of pure decisions, without an API server. Archives, Compare and WrittenOnce are the parts of Golden, for archives
// with more in them.
package decision
