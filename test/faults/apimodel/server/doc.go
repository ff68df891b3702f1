// Package server serves a model of the API server (package apimodel) to clients in the same process, by a RoundTripper.
//
// The tests of the engine's packages use it. Its answers are those of
// apimodel.Model, which a test there compares with a real kube-apiserver. A test can request these faults, and no others occur:
//
//	Before        rejects a request, delays it, or loses its answer
//	After         changes the model between an answer and its arrival
//	Held, Cut     watches are silent, or end
//	NoWatchList   no watch begins with the existing objects, as without that feature of the API server
//	Model         CRDs that are created and deleted, webhooks, a compacted or restored store, namespaces that close: see Model.Serve
package server
