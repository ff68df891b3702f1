package mydeployment

import (
	"testing"

	"stoic/convert"
	"stoic/test/served"
)

// TestMarkersAgreeWithTags: the API server and the operator have the same rules.
func TestMarkersAgreeWithTags(t *testing.T) {
	for _, d := range convert.Disagreements[MyDeployment](served.CRD(t, "deploy/crd/mydeployments.yaml"), "v1", rules()...) {
		t.Error(d)
	}
}
