// Package versions answers one question: IN WHICH VERSIONS CAN A TRAINING JOB BE WRITTEN AND READ?
//
// Jobs are stored as kubeflow.org/v1. What other versions a cluster serves is for who installs the CRDs (docs/versions.md); how
// jobs convert between them is here, as tables for convert/versions. What no cluster serves and stoic convert reads is in offline.
//
//	TFJob   v1beta2, v1beta1, v1alpha2: those of tf-operator, with the run policy flat in the spec
//	MPIJob  v2beta1: that of mpi-operator
package versions
