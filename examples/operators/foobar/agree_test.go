package foobar

import (
	"testing"

	"stoic/convert"
	"stoic/test/served"
)

// TestMarkersAgreeWithTags: the API server and the operator have the same rules.
func TestMarkersAgreeWithTags(t *testing.T) {
	found := convert.Disagreements[FooBar](served.CRD(t, "deploy/crd/foobars.yaml"), "v1alpha1")
	found = append(found, convert.Disagreements[ClusterFooBar](served.CRD(t, "deploy/crd/clusterfoobars.yaml"), "v1alpha1")...)
	for _, d := range found {
		t.Error(d)
	}
}
