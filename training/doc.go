// Package training answers one question: WHAT IS A TRAINING JOB?
//
// It is the vocabulary of the training operator: plain data and pure functions, no client, no clock, no
// goroutine, no untyped object. The kinds are in training/kinds, one file each; training/plan decides what
// happens to a job. The engine (schema, convert, controller) imports nothing from here.
//
// # Vocabulary
//
// The words below mean the same thing in every package, log line, metric and document.
//
//	kind          one custom resource, for example TFJob; a value of type Kind, in a file of its own
//	replica type  "Worker", "PS": what it is called, and which of them are equal
//	replica       one running copy of a replica type; it has an index and is made of one pod and one service
//	child         a pod or service that belongs to a job; its identity is name + owner UID, never labels
//	dependent     an object beside pods and services that a job asks for: a PodGroup, an autoscaler
//	head          what can be read of any object, well-formed or not: kind, metadata, status
//	wire form     what the author wrote: JSON with optional fields (RunPolicySpec, ReplicaSpec, Status)
//	job           the normal form of a well-formed object: every default filled in, every replica type known,
//	              every number in range, no pointer that may be nil; it is never written to
//	terminal      Succeeded or Failed: a condition that is final once it is on record
//	success rule  which replicas' success is the success of the job
//	ledger        what is on record beside the status, for when the pods that proved it are gone
//	orphan        a child that no replica of the job asks for any more
//
// # From wire form to plan
//
//	object --convert--> Job       --plan--> pods, services, status, events
//	               \--> Rejection --plan--> status, events
package training
