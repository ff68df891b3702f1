// Package integration answers one question: DOES IT DO SO ON A REAL API SERVER?
//
// Every test runs the operator as a process of its own, as the user that deploy/ binds and no other, on a real
// kube-apiserver with etcd, controller-manager, scheduler and simulated nodes. The whole suite runs once for each
// shape that the CRD may have in a cluster; one control plane a shape. Beside it, each on a control plane of its own:
// the contract with users of training-operator 1.9, the installation as deploy/README.md tells it, a CRD that comes late
// and goes, and the election of a leader.
package integration
