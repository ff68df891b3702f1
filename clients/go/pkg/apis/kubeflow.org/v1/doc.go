// Package v1 answers one question: WHICH GO TYPES HAS THE API kubeflow.org/v1?
//
// The types have the names and shapes of those of training-operator, so that a program that imports them changes only its import paths.
// They are written by hand; TestTypesAreThoseOfTheSchema compares each field with the schema in openapi.json, in both directions. Deep
// copies, registration and everything in pkg/client are generated from them: make clients.
//
// +k8s:deepcopy-gen=package,register
// +groupName=kubeflow.org
package v1
