// Package starter answers one question: HOW DOES A NEW OPERATOR BEGIN?
//
// An Operator is what an author says of it: the names of its resource and the fields of the spec. Check says what is wrong with
// them; Files are those of a working module, as templates in the folder files have them, but for the CRD, which the types make.
package starter
