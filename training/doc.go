// Package training answers one question: WHAT IS A TRAINING JOB?
//
// It holds the types of the training operator as plain data and pure functions: no client, no clock, no
// goroutine, no untyped object. The kinds are in training/kinds, one file each. training/plan decides what
// happens to a job. The engine (schema, convert, controller) imports nothing from this package.
//
// # Vocabulary
//
// The words below mean the same thing in every package, log line, metric and document.
//
//	kind          one custom resource, for example TFJob; a value of type Kind, in a file of its own
//	replica type  a named group of equal replicas of a job: "Worker", "PS"
//	replica       one copy of a replica type; it has an index, one pod and, except for MPIJobs, one service
//	child         a pod or service that belongs to a job; its identity is name + owner UID, never labels
//	dependent     an object other than a pod or service that a job needs: a PodGroup, an autoscaler
//	head          what can be read from any object, well-formed or not: kind, metadata, status
//	wire form     what the user wrote: JSON with optional fields (RunPolicySpec, ReplicaSpec, Status)
//	job           the normal form of a well-formed object: every default filled in, every replica type known,
//	              every number in range, no pointer that may be nil; it is never written to
//	terminal      Succeeded or Failed: a condition that is final once it is recorded
//	success rule  which replicas' success is the success of the job
//	ledger        an annotation of the job that keeps what its pods proved after they are deleted
//	orphan        a child that belongs to no replica of the job any more
//
// # From wire form to plan
//
//	object --convert--> Job       --plan--> pods, services, status, events
//	               \--> Rejection --plan--> status, events
package training
