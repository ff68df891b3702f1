// Package foo answers one question: HOW DOES THE SAMPLE THAT EVERYBODY KNOWS LOOK ON THE ENGINE?
//
// A Foo of the group samplecontroller.k8s.io keeps one Deployment of the name and the size that it says: the resource with
// which Kubernetes shows how a controller is written by hand. README.md compares the two.
//
// +groupName=samplecontroller.k8s.io
// +versionName=v1alpha1
package foo
