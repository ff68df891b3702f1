// Package schema answers one question: WHICH WORDS DOES THE ENGINE USE?
//
// Schema holds the plain data that an operator and the engine exchange, and pure functions on it: no client, no clock, no
// goroutine, no untyped object. Any package may import it. It imports only the Kubernetes types and levenshtein.
//
//	resource   one API resource: group, version, plural, kind, and whether it is namespaced
//	head       what can be read of any object, well-formed or not: resource, metadata, status
//	problem    one thing wrong with an object: path, what was found, what is required, one hint
//	warning    a problem that does not keep the object from being served
//	rejection  a malformed object with all its problems; it is data, not an error
//	child      an object whose controller owner reference, or in another namespace an annotation, names another object; its
//	           identity is name + owner UID
//	plan       what to write next: finalizers to add, status, annotations, events, deletions, patches, creations, finalizers
//	           to remove
package schema
