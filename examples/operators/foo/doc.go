// Package foo answers one question: HOW DOES THE SAMPLE THAT EVERYBODY KNOWS LOOK ON THE ENGINE?
//
// A Foo of the group samplecontroller.k8s.io keeps one Deployment with the name and the size in its spec. It is the resource of
// kubernetes/sample-controller, the example of a controller written by hand. README.md compares the two.
//
// +groupName=samplecontroller.k8s.io
// +versionName=v1alpha1
package foo
