// Package disruption answers one question: does an operator recover when the cluster under it changes?
//
// The changes concern the API surface (G15: CRDs that are absent, late, deleted, recreated, broken) and the store (G16: etcd
// restored to an earlier state). Every plan has its own control plane. The operator is the real program in its own process, which
// the plan never restarts.
package disruption
