// Package schema answers one question: WHICH WORDS DOES THE ENGINE USE?
//
// It holds the plain data that an operator and the engine exchange, and pure functions on it: no client, no
// clock, no goroutine, no untyped object. Everybody may import it; it imports only the Kubernetes types, and
// nothing of any operator.
//
//	resource   one API resource: group, version, plural, kind, and whether it is namespaced
//	head       what can be read of any object, well-formed or not: resource, metadata, status
//	problem    one thing wrong with an object: path, what was found, what is required, one hint
//	warning    a problem that does not keep the object from being served
//	rejection  a malformed object with all its problems; it is data, not an error
//	child      an object that belongs to another by its controller owner reference; its identity is name + owner UID
//	plan       what to write next: status, annotations, finalizers, events, deletions, patches, creations
package schema
