// Package scenario answers one question: which lives can a job have?
//
// A Scenario is a manifest, and what the job's user and the kubelets do and when. Live brings it about. Where the end of
// a pod matters the scenario itself plays the kubelet, so that a life is as fast as the operator's reactions. The
// operator may be dead, late or blind at any time: a step waits for what the cluster looks like, tolerates every legal
// state on the way, and can be taken twice.
package scenario
