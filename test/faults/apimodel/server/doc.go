// Package server answers one question: WHAT DOES A CLIENT GET FROM THE MODEL?
//
// It serves a model of the API server (package apimodel) over HTTP, for the tests of the engine's packages. What it answers is what
// apimodel.Model says, which a test there holds against a real kube-apiserver. Only what a test asks for goes wrong:
//
//	Before        refuses a request, delays it, or has its answer lost
//	After         changes the model between an answer and its arrival
//	Held, Cut     watches are silent, or end
//	NoWatchList   no watch begins with what there is, as without that feature of the API server
//	Model         CRDs that come and go, webhooks, a past that is compacted or comes back, namespaces that close: see Model.Serve
package server
