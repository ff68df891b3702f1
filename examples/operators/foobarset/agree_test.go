package foobarset

import (
	"testing"

	"stoic/convert"
	"stoic/test/served"
)

// TestMarkersAgreeWithTags: the API server and the operator have the same rules.
func TestMarkersAgreeWithTags(t *testing.T) {
	for _, d := range append(convert.Disagreements[FooBarSet](served.CRD(t, "deploy/crd/foobarsets.yaml"), "v1alpha1"),
		convert.Disagreements[FooBarTask](served.CRD(t, "deploy/crd/foobartasks.yaml"), "v1alpha1")...) {
		t.Error(d)
	}
}
