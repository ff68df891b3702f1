package foo

import (
	"testing"

	"stoic/convert"
	"stoic/test/served"
)

// TestMarkersAgreeWithTags: the API server and the operator have the same rules.
func TestMarkersAgreeWithTags(t *testing.T) {
	for _, d := range convert.Disagreements[Foo](served.CRD(t, "deploy/crd/foos.yaml"), "v1alpha1") {
		t.Error(d)
	}
}
