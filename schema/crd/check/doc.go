// Package check answers one question: WHAT IS WRONG WITH A CUSTOMRESOURCEDEFINITION?
//
// All reports what API servers accept although it hurts an operator or its users, and what is not structural. Against reports which
// objects that a former definition allows a new one would reject or prune. Refusals translates the errors of the API server's own
// library, which package verdict asks. All three are pure.
package check
