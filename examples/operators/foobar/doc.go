// Package foobar answers one question: HOW DOES AN OPERATOR LOOK THAT IS WRITTEN ON THE ENGINE?
//
// A FooBar keeps one ConfigMap, in its own namespace or in another one. ClusterFooBar is the same, but cluster-scoped.
// The developer of this operator writes the types, one pure decision and a short main; the engine does the rest.
// README.md says how to run it.
//
// +groupName=test.example.com
// +versionName=v1alpha1
package foobar
