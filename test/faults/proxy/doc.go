// Package proxy answers one question: what can stand between an operator and its API server?
//
//	operator --HTTP/2, TLS--> Proxy --as the operator's user--> kube-apiserver
//	                            |
//	                            +-- Track: the requests that concern one subject (a job), numbered; faults at the k-th
//	                            +-- Streams: lists and watches of a resource; held, cut, skipped, or as of the past
//
// A request concerns a subject if its path, or the name in its body (of an event: the name of the object that it is
// about), is the subject's name or begins with it and a hyphen. So one operator may serve many plans at once,
// each with a job of its own, and the plan of one does not touch the other's requests. Writes that concern no subject are kept apart:
// an operator has no reason to make one.
package proxy
