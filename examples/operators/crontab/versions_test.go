package crontab

import (
	"testing"

	"stoic/test/served"
)

// TestVersions: the kustomize component has the CRD that is generated from the table of versions.
func TestVersions(t *testing.T) {
	served.Patch(t, "deploy/versions/crontabs.yaml", *update, served.CRD(t, "deploy/crd/crontabs.yaml"), Versions(), served.Service("crontab-operators", "crontab-conversion"))
}
