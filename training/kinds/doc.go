// Package kinds answers one question: WHICH KINDS OF JOBS ARE THERE?
//
// One file per kind holds all in which it differs from the others: its fields, replica types, environment and
// success rule. All lists them.
//
// The markers below name the API group for the CRD generator.
//
// +groupName=kubeflow.org
// +versionName=v1
package kinds
