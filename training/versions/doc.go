// Package versions answers one question: IN WHICH VERSIONS CAN A TRAINING JOB BE WRITTEN AND READ?
//
// Jobs are stored as kubeflow.org/v1. The installed CRDs decide which other versions a cluster serves (docs/versions.md). This
// package has the conversions, as tables for convert/versions. Package offline has those that only `stoic convert` needs.
//
//	TFJob   v1beta2, v1beta1, v1alpha2: those of tf-operator, with the run policy flat in the spec
//	MPIJob  v2beta1: that of mpi-operator
package versions
