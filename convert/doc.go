// Package convert answers one question: IS THIS OBJECT WELL-FORMED?
//
// It turns untyped objects into typed ones, or into rejections that name every problem with its path. It is the only place where
// untyped and typed data meet. The API server's schema may be of any age, or absent, so this package is the trust boundary. It
// knows no custom resource: the operator that serves one passes in its rules.
//
//	Typed   a whole converter, made from a Go type; Verbatim keeps a part as the user wrote it
//	Shape   what JSON must look like to fit a Go type; Shapes makes it from the type and from rules
//	Rule    constraints of a type beyond its form: Need, Span, Choice, Words, ExactlyOne, Hide, Advise, And, On; those of
//	        the types of Kubernetes are built in
//	Reader  walks an object by its shape, decodes it, and collects what is wrong with it, with paths
//	Meta    reads the metadata of any object, however malformed
//
// For a resource that has a Go type as CRDs have them, Typed is the converter: it takes the type, its tags and rules, and functions
// for what those cannot express. Any other converter is a function that makes a Reader, calls Spec for what all objects have and
// Walk for the rest, and returns the Reader's Problems and Warnings. Converters are total: they return for every input, do not
// change it and keep nothing of it.
package convert
