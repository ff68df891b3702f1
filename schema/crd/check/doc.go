// Package check answers one question: WHAT IS WRONG WITH A CUSTOMRESOURCEDEFINITION?
//
// All says what API servers accept and hurts an operator or its users, and what is not structural. Against says which objects
// that a former definition has let through a new one would refuse or cut. Refusals puts into the same words what the code of the
// API server itself says, which is run apart from the operator: see tools/crdcheck. All are pure.
package check
