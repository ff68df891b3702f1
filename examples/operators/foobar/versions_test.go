package foobar

import (
	"testing"

	"stoic/test/served"
)

// TestVersions: the kustomize component has the CRD that is generated from the table of versions.
func TestVersions(t *testing.T) {
	served.Patch(t, "deploy/versions/foobars.yaml", *update, served.CRD(t, "deploy/crd/foobars.yaml"), Versions(), served.Service("test-operators", "foobar-conversion"))
}
