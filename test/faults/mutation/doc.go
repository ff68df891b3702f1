// Package mutation answers one question: in which ways can an object be malformed?
//
//	valid object, schema of its CRD --All--> Mutations --Sample--> as many as are tried --Apply--> malformed object
//
// Every place of the object, and every field that the schema declares and the object does not have, is changed in every way
// that fits there. All is pure: it gives the same mutations in the same order each time, and the same seed draws the same
// sample. What is made may be more than an API server takes: numbers that no float holds, texts that are no UTF-8.
package mutation
