// Package lean answers one question: how is what API servers send read at the least cost?
//
// Of a pod, 3 KB as it comes, decisions need its identity, its owner, two labels and how its containers ended. To decode
// all of it was a quarter of all that the operator allocated. API servers send built-in objects as protobuf, in which
// what is not needed is stepped over.
//
//	Client       asks for lists and watches of pods or services, and for nothing else
//	Object       is what it answers: what decisions need
//	Answer       is the same of a single object, or of its metadata, that a write was answered with
//	NewUntyped   makes an untyped client, for jobs: all of an object, but read once
//
// The numbers of fields are those of generated.proto of k8s.io/api/core/v1 and k8s.io/apimachinery, which never change.
package lean
