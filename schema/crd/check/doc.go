// Package check answers one question: WHAT IS WRONG WITH A CUSTOMRESOURCEDEFINITION?
//
// All reports what API servers accept although it hurts an operator or its users, and what is not structural. Against reports which
// objects that a former definition allows a new one would reject or prune. Server reports what an API server refuses, by the
// API server's own library, which is linked into cmd/stoic only.
package check
