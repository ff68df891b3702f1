package mydeployment

import (
	"testing"

	"stoic/convert"
	"stoic/test/served"
)

// TestMarkersAgreeWithTags: what the API server asks for is what the operator asks for.
func TestMarkersAgreeWithTags(t *testing.T) {
	for _, d := range convert.Disagreements[MyDeployment](served.CRD(t, "deploy/crd/mydeployments.yaml"), "v1", rules()...) {
		t.Error(d)
	}
}
