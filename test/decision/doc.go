// Package decision answers one question: WHAT IS THE RESULT OF AN OPERATOR'S DECISIONS, WHATEVER HAPPENS IN BETWEEN?
//
// It is for tests of pure decisions, without an API server:
//
//	Cluster  objects in memory, with what an API server promises of them: UIDs, versions, generations, preconditions, garbage
//	         collection. Reconcile decides on what is seen at some version that the engine may show, and makes the writes of the
//	         plan in their order, up to a crash
//	Golden   archives with an object, what it owns, and the plan for it
//	         Archives, Compare and WrittenOnce are its parts, for archives with more in them
package decision
