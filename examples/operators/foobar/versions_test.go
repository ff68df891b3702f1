package foobar

import (
	"testing"

	"stoic/test/served"
)

// TestVersions: the component of kustomize has the CRD that follows from the table.
func TestVersions(t *testing.T) {
	served.Patch(t, "deploy/versions/foobars.yaml", *update, served.CRD(t, "deploy/crd/foobars.yaml"), Versions(), served.Service("test-operators", "foobar-conversion"))
}
