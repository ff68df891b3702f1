// Package sandbox answers one question: how does one operator run, behind a proxy, in its own namespace?
//
//	Sandbox
//	  operator process   any command that takes a kubeconfig; its process group is killed when we end
//	     | kubeconfig
//	  proxy.Proxy        faults
//	     |
//	  kube-apiserver     shared with all the other sandboxes
//
// A sandbox runs many plans, one after another, each with a job of a new name. Its operator keeps running between plans, as
// operators do, unless it was killed or the next plan needs other flags.
package sandbox
