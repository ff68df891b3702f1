// Package versions answers one question: HOW DOES AN OBJECT READ IN ANOTHER VERSION OF ITS KIND?
//
// A kind is stored in one version, the hub. How each other served version differs from it is data: a table of places. A
// Converter, made of these tables, converts objects between any two versions, by way of the hub. It is pure, and it is total:
// whatever JSON stands in an object, it gives an object of the wanted version.
//
//	Kind       the tables: what an author says of a kind
//	Version    one table: Moves, Only, HubOnly
//	Converter  converts objects; Result says what became of one
//
// # What is promised
//
// To another version and back is no change: an object is as before but for our annotation and for a map of annotations that
// is absent or empty. This holds for every JSON object, however odd, in both directions, between two versions that are both not
// the hub, too. An annotation that somebody has made up or spoilt does not break it.
//
// What the other version has no place for is kept in the annotation that Kind.Annotation names, by the version it comes from:
//
//	{"v2beta1":{"lost":{"spec":{"mpiImplementation":"Intel"}},"filled":{"spec.x":"OnFailure"}}}
//
// lost has the content of that version that the present one has no place for. It returns to its place when the object is converted
// back, unless the place is taken by then, or what it stood in is gone. filled has values that were written out, as their absence
// means different things in the two versions: place and value in the present version. One that has not been changed is left out
// again on the way back. Entries of other versions stay as they are.
//
// Metadata stay as they came but for that annotation. There is one exception to the promise: API servers accept any map of
// annotations that a conversion does not change, and check the whole of one that it changes. Where the changed one would be
// refused, as an old key of somebody else's is no valid one or as all together are too large, annotations stay as they came, and
// Result.Outcome is NotKept.
package versions
