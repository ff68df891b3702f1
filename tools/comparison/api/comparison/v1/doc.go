// Package v1 answers one question: what is a Foo?
//
// +k8s:deepcopy-gen=package
// +groupName=comparison.example.com
package v1
