// Package disruption answers one question: does an operator recover when the cluster under it changes?
//
// What changes is the API surface (G15: CRDs that are absent, late, deleted, recreated, broken) and the store (G16: etcd
// restored to a past). Every plan has a control plane of its own, and the operator is the real program in a process of
// its own, which the plan never restarts.
package disruption
