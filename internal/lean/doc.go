// Package lean answers one question: HOW IS WHAT API SERVERS SEND READ AT THE LEAST COST?
//
// A pod has 3 KB as it is received. Decisions need its identity, its owner, two labels and how its containers ended. To
// decode all of it was a quarter of all that the operator allocated. API servers send built-in objects as protobuf, in
// which fields that are not needed can be skipped.
//
//	Client       lists and watches pods or services, and nothing else
//	Object       is what it returns: what decisions need
//	Answer       reads the metadata of the single object that a write was answered with
//	NewUntyped   makes an untyped client, for other resources: it reads all of an object, in fewer passes
//
// The numbers of fields are those of generated.proto of k8s.io/api/core/v1 and k8s.io/apimachinery, which never change.
package lean
