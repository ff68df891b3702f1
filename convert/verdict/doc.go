// Package verdict asks the API server's own library whether an API server would accept a custom resource, or a definition, CEL rules
// included.
//
// stoic validate --crd and stoic crd check call it, and the tests of package convert, whose Schema.Check finds positions, suggestions
// and words for the same object. The operator does not import it, so the CEL compiler is not in its image.
package verdict
