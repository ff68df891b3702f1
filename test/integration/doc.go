// Package integration answers one question: DOES IT DO SO ON A REAL API SERVER?
//
// Every test runs the operator as a separate process, as the user that deploy/ binds and no other, on a real kube-apiserver with
// etcd, controller-manager, scheduler and simulated nodes. The whole suite runs once for each shape that the CRD may have in a
// cluster, with one control plane for each shape. Other tests have their own control planes: the contract with users of
// training-operator 1.9, the installation as in deploy/README.md, a CRD that is created late and deleted, and leader election.
package integration
