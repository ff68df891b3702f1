package crontab

import (
	"testing"

	"stoic/test/served"
)

// TestVersions: the component of kustomize has the CRD that follows from the table.
func TestVersions(t *testing.T) {
	served.Patch(t, "deploy/versions/crontabs.yaml", *update, served.CRD(t, "deploy/crd/crontabs.yaml"), Versions(), served.Service("crontab-operators", "crontab-conversion"))
}
