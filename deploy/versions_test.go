package deploy

import (
	"testing"

	"stoic/test/served"
	trainingversions "stoic/training/versions"
)

// TestVersions: the components have the versions that follow from the tables.
func TestVersions(t *testing.T) {
	webhook := served.Service("kubeflow", "training-operator-conversion")
	served.Patch(t, "components/versions/tfjobs.yaml", *update, served.CRD(t, "crd/tfjobs.yaml"), trainingversions.TFJob(), webhook)
	served.Patch(t, "components/mpijob-versions/mpijobs.yaml", *update, served.CRD(t, "crd/mpijobs.yaml"), trainingversions.MPIJob(), webhook,
		served.Version(t, "mpijob-v2beta1/mpijobs.yaml"))
}
