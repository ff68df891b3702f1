// Package mutation answers one question: in which ways can an object be malformed? It puts every value of a list at every place of a
// valid object, and at every field that its CRD declares. The tests that store malformed objects draw some of them by a seed.
package mutation
