// Package versions answers one question: HOW DOES AN OBJECT READ IN ANOTHER VERSION OF ITS KIND?
//
// A kind is stored in one version, the hub. A table of places describes how each other served version differs from it. A Converter
// is made from these tables and converts objects between any two versions, by way of the hub. It is pure and total: for any JSON in
// an object it returns an object of the requested version.
//
//	Kind       the tables of a kind
//	Version    one table: Moves, Only, HubOnly
//	Converter  converts objects; Result reports the outcome of one conversion
//
// # What is promised
//
// Converting to another version and back changes nothing except for our annotation and a map of annotations that is absent or
// empty. This holds for every JSON object, however malformed, in both directions, and between two versions that are not the hub.
// An annotation of ours that another client has made up or edited does not break it.
//
// Content that the other version has no place for is kept in the annotation Kind.Annotation, by the version it comes from:
//
//	{"v2beta1":{"lost":{"spec":{"mpiImplementation":"Intel"}},"filled":{"spec.x":"OnFailure"}}}
//
// lost has the content of that version that the present one has no place for. It returns to its place when the object is converted
// back, unless the place is taken by then, or the object around it no longer exists. filled has the defaults that were written out
// because absence means different things in the two versions: place and value in the present version. A default that has not
// changed is removed again on the way back. Entries of other versions stay unchanged.
//
// Other metadata stays unchanged. There is one exception to the promise. API servers accept any map of annotations that a
// conversion does not change, but validate the whole map if it changes. They may refuse a changed map, because a key that another
// client has set is invalid, or because all annotations together are too large. Annotations then stay unchanged, and Result.Outcome
// is NotKept.
package versions
