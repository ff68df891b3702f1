// Package generate answers one question: HOW DOES A CRD COME FROM GO TYPES?
//
// CRDs reads the types of a package, of this module or another one, with controller-gen. Publish turns such a CRD into the one that
// is installed. Encode writes it, and Differences says how two encoded CRDs differ. docs/decisions/0002-crd-generator.md gives the
// reasons.
package generate
