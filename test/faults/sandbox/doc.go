// Package sandbox answers one question: how does one operator run, behind a proxy, in a namespace of its own?
//
//	Sandbox
//	  operator process   any command that takes a kubeconfig; its process group dies with us
//	     | kubeconfig
//	  proxy.Proxy        faults
//	     |
//	  kube-apiserver     shared with all the other sandboxes
//
// A sandbox is used for many plans, one after another, each with a job of a new name. Its operator goes on from plan to
// plan, as operators do, unless it was killed or the next plan needs other flags.
package sandbox
