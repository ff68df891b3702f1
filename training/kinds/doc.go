// Package kinds answers one question: WHICH KINDS OF JOBS ARE THERE?
//
// One file per kind holds everything in which it differs from the others: its fields, replica types, environment and
// success rule. All returns the kinds.
//
// The markers below name the API group for the CRD generator.
//
// +groupName=kubeflow.org
// +versionName=v1
package kinds
