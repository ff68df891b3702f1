// Package convert answers one question: IS THIS ONE?
//
// It turns untyped objects into typed ones, or into rejections that name every problem with its path, and it is the
// only place where untyped data and typed data meet. The API server's schema may be of any age, or absent: this package
// is the trust boundary. It knows nothing of any resource; who serves one says what is asked of it.
//
//	Typed   a whole converter, made from a Go type; Verbatim keeps a part as its author wrote it
//	Shape   what JSON may look like to fit a Go type; Shapes makes it from the type and from rules
//	Rule    what is asked of a type beyond its form: Need, Span, Choice, Words, ExactlyOne, Hide, And, On; those of
//	        the types of Kubernetes are built in
//	Reader  walks an object by its shape, decodes it, and collects what is wrong with it, with paths
//	Meta    reads the metadata of any object, however odd
//
// For a resource that has a Go type as CRDs have them, Typed is the converter: it takes the type, its tags and rules, and
// functions for what those cannot say. A converter of another form is a function that makes a Reader, calls Spec for what
// all objects have and Walk for the rest, and asks for Problems and Warnings. Converters are total: they return for every
// input, do not change it and keep nothing of it.
package convert
