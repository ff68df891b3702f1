// Package proxy answers one question: what can happen between an operator and its API server?
//
//	operator --HTTP/2, TLS--> Proxy --as the operator's user--> kube-apiserver
//	                            |
//	                            +-- Track: the requests that concern one subject (a job), numbered; faults at the k-th
//	                            +-- Streams: lists and watches of a resource; held, cut, skipped, or served from the past
//
// A request concerns a subject if its path, or the name in its body (for an event: the name of the object that it is about), is
// the subject's name or begins with it and a hyphen. So one operator can serve many plans in parallel, each with its own job, and
// the faults of one plan do not affect the requests of the others. Writes that concern no subject are kept separately: an
// operator has no reason to make them.
package proxy
