// Package v2beta1 answers one question: WHAT IS AN MPIJob OF kubeflow.org/v2beta1?
//
// It is the version of mpi-operator. Its CRD has the same name as that of kubeflow.org/v1, so a cluster serves one of the
// two versions, or both with deploy/components/mpijob-versions. If it serves both, jobs are run as v1. The package is
// separate because the markers below name the version for the CRD generator.
//
// +groupName=kubeflow.org
// +versionName=v2beta1
package v2beta1
