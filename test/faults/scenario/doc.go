// Package scenario answers one question: which runs can an object have?
//
//	Operators   whose objects they are: one file each (training.go, foobar.go), with what must hold in their scenarios
//	Scenario    one run: a manifest, steps, and an end
//
// A Scenario is a manifest, and what the object's user and the kubelets do and when. Live brings it about. Where the end of
// a pod matters the scenario itself plays the kubelet, so that a run is as fast as the operator's reactions. The
// operator may be dead, late or blind at any time: a step waits for what the cluster looks like, tolerates every legal
// state on the way, and can be taken twice.
package scenario
