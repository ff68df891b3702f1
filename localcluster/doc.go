// Command localcluster answers the question: how do I get A REAL CONTROL PLANE
// IN ONE BINARY?
//
// It holds etcd, kube-apiserver, apiextensions-apiserver, kube-controller-manager,
// kube-scheduler and kwok, the unchanged originals, and a supervisor that runs them
// as children of itself:
//
//	localcluster up --dir DIR [--nodes N] [--user NAME=USERNAME[:GROUP,...]]... [--crd PATH]... [--audit] [--history] [--gang-scheduling] [--strict] [--store etcd|kine|URL] [--store-program FILE] [--crs core|aggregated] [--temporary]
//	localcluster etcd|kube-apiserver|apiextensions-apiserver|kube-controller-manager|kube-scheduler|kwok ARGUMENTS
//	localcluster version
//
// When everything is ready, up writes one line of JSON to its standard output:
// kubeconfigs, addresses, process ids, log files. It ends at the end of its
// standard input and at an interrupt. Until then it obeys lines on its standard
// input, with one line of JSON each: "kill PART" ends a part as a crash would,
// "start PART" starts it again. "save" puts the store aside as it is, and "restore"
// brings it back: all parts start anew, and resource versions run backwards for
// everybody who was connected.
//
// Nothing is simulated but the kubelets: pods are scheduled onto nodes that do
// not exist, and a pod's annotations say how its containers behave (see the
// folder simulation).
//
// The folders: access makes certificates and kubeconfigs, simulation says how
// the nodes and their pods behave, supervise keeps child processes, plane puts
// the control plane together, parts holds the originals. kubelet deletes pods as a
// kubelet does, node holds the kubelet and kubectl of a real node, kine is a module
// of its own. Only parts, kubelet and node import Kubernetes.
package main
