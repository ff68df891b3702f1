// Package cell answers one question: how does one operator live, behind a proxy, in a namespace of its own?
//
//	Cell
//	  operator process   any command that takes a kubeconfig; its process group dies with us
//	     | kubeconfig
//	  proxy.Proxy        faults
//	     |
//	  kube-apiserver     shared with all the other cells
//
// A cell lives through many plans, one after another, each with a job of a new name. Its operator goes on from plan to
// plan, as operators do, unless it was killed or the next plan needs other flags.
package cell
