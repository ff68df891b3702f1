package foo

import (
	"testing"

	"stoic/convert"
	"stoic/test/served"
)

// TestMarkersAgreeWithTags: what the API server asks for is what the operator asks for.
func TestMarkersAgreeWithTags(t *testing.T) {
	for _, d := range convert.Disagreements[Foo](served.CRD(t, "deploy/crd/foos.yaml"), "v1alpha1") {
		t.Error(d)
	}
}
