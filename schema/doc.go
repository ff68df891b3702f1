// Package schema answers one question: WHAT IS A JOB?
//
// It holds plain data and pure functions: no client, no clock, no goroutine, no
// untyped object. Everybody may import it; it imports only the Kubernetes types.
//
// # Vocabulary
//
// The words below mean the same thing in every package, log line, metric and document.
//
//	kind       one custom resource, for example TFJob; a value of type Kind, in a file of its own
//	role       one replica type of a kind ("Worker", "PS"); what it is called, and who is its equal
//	replica    one running copy of a role; it has an index and is made of one pod and one service
//	child      a pod or service that belongs to a job; its identity is name + owner UID, never labels
//	head       what can be read of any object, well-formed or not: kind, metadata, status
//	wire form  what the author wrote: JSON with optional fields (RunPolicySpec, ReplicaSpec, Status)
//	job        the normal form of a well-formed object: every default filled in, every role known,
//	           every number in range, no pointer that may be nil; nobody writes to one
//	problem    one thing wrong with an object: path, what was found, what is wanted, one hint
//	warning    a problem that does not keep the job from running
//	rejection  an object that is not a job, with all its problems; it is news, not an error
//	verdict    Succeeded or Failed; final, once it is on record
//	lead       the role whose success is the success of the job
//	plan       what shall be written next: a status, events, deletions, creations
//	record     to write a status; nothing is acted on before what it follows from is on record
//	ledger     what is on record beside the status, for when the pods that proved it are gone: restarts, verdict
//	stray      a child that no replica of the job asks for any more
//
// # From wire form to plan
//
//	object --convert--> Job       --plan--> pods, services, status, events
//	               \--> Rejection --plan--> status, events
//
// The markers below name the API group for the CRD generator.
//
// +groupName=kubeflow.org
// +versionName=v1
package schema
