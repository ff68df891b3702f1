// Package generate answers one question: HOW DOES A CRD COME FROM GO TYPES?
//
// CRDs reads the types of a package, of this module or of another one, by controller-gen; Publish makes of a CRD what is
// installed; Encode writes it, and Differences says how two texts of one differ. docs/decisions/0002-crd-generator.md
// says why it is done so.
package generate
