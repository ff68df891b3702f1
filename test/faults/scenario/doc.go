// Package scenario answers one question: which runs can an object have?
//
//	Operators   the operators under test: one file each (training.go, foobar.go), with what must hold in their scenarios
//	Scenario    one run: a manifest, steps, and an end
//
// A Scenario is a manifest, and what the object's user and the kubelets do and when. Run takes its steps. Where the end of a pod matters,
// the scenario itself acts as the kubelet, so that a run is as fast as the operator's reactions. The operator may be dead, late or blind
// at any time, so a step waits for a state of the cluster, tolerates every legal state before it, and can be repeated.
package scenario
