// Package mutation answers one question: in which ways can an object be malformed?
//
//	valid object, schema of its CRD --All--> Mutations --Sample--> as many as are tried --Apply--> malformed object
//
// Every place of the object, and every field that the schema declares and the object lacks, is changed in every way that fits
// there. All is pure: it returns the same mutations in the same order each time, and the same seed draws the same sample. A
// result may be more than an API server accepts: numbers that no float can hold, or text that is not UTF-8.
package mutation
