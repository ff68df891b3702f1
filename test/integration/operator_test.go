package integration

import (
	"context"
	"testing"

	"stoic/test/operator"
)

// process is one running operator.
type process struct{ *operator.Process }

// operator runs the operator for one namespace, or for all if ns is empty, until the test ends.
func (r *rig) operator(t *testing.T, ns string, more ...string) *process {
	t.Helper()
	return &process{operator.InTest(t, r.operatorOptions(t, ns, more...))}
}

// serve returns the operator that serves a namespace: the one that serves all of them, or one that runs until the test ends.
func (r *rig) serve(t *testing.T, ns string) *process {
	t.Helper()
	if r.common != nil {
		return r.common
	}
	return r.operator(t, ns)
}

func (r *rig) operatorOptions(t *testing.T, ns string, more ...string) operator.Options {
	t.Helper()
	return operator.Options{Command: operator.Stoic(build(t, ".", r.flags...)), Kubeconfig: r.cluster.UserKubeconfig("operator"), Namespace: ns, Flags: more}
}

// kill ends the operator as a power failure would.
func (p *process) kill(t *testing.T) {
	t.Helper()
	if err := p.Kill(); err != nil {
		t.Fatal(err)
	}
}

// stop ends the operator as Kubernetes does and checks how it ended.
func (p *process) stop(t *testing.T) {
	t.Helper()
	if err := p.Stop(context.Background()); err != nil {
		t.Error(err)
	}
}

// metric returns the sum of the samples whose name and labels contain all the given parts.
func (p *process) metric(t *testing.T, parts ...string) (sum float64, found bool) {
	t.Helper()
	sum, found, err := p.Sample(t.Context(), parts...)
	if err != nil {
		t.Fatal(err)
	}
	return sum, found
}
