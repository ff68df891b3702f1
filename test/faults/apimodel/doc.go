// Package apimodel is a model of a Kubernetes API server and its etcd, in process: one request in, one answer out, nothing in between. It has no
// goroutine, no clock of its own, no randomness and no I/O, so a schedule of requests has one outcome and can be replayed.
//
//	request     what a client sends: *http.Request, with its body
//	commit      one change of one object; each has its own version, as in etcd
//	version     the number of a commit: the resourceVersion of objects, and the position of lists and watches
//	history     all commits since the beginning; what watchers see is made from it
//	step        one thing that the garbage collector can do next
//
// The model covers what decides about the state of objects: metadata, preconditions, generations, finalizers, grace periods, owners, the
// status subresource, lists, watches. It does not cover validation of specs (except the immutable parts of a pod's), admission,
// defaulting, managedFields, server-side apply, strategic merge patches, dry runs, deletecollection, a watch cache that is behind and cycles of owners.
//
// Changes of a server other than by a request are modelled, too: CRDs that are created and deleted, fields that a schema drops,
// writes to etcd.
//
// TestModelAndAPIServer sends the same requests to this model and to a real kube-apiserver and compares. The tests of the engine's
// packages, of the CLI and of package simulation run on this model; each reaches it by a Transport, which is an http.RoundTripper.
package apimodel
