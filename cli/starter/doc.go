// Package starter answers one question: HOW DOES A NEW OPERATOR BEGIN?
//
// An Operator describes a new operator: its resource and the fields of the spec. Check returns what is wrong with it. Files returns a
// working module, rendered from the templates in the folder files. It has no CRD: that is generated from the types.
package starter
