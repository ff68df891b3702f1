package integration

import (
	"net/http"
	"strings"
	"testing"

	"stoic/cli/cluster"
	"stoic/test/operator"
)

// beforeItsCRD: an operator that starts before the CRDs of its kinds are there is alive, ready, as there is nothing to read yet, and
// says what it waits for. It serves what comes with them. The process that runs ends first: what its finalizers guard goes while it does.
// Where custom resources have a server of their own, nobody can tell a version without kinds from a server that is away.
func (r *rig) beforeItsCRD(t *testing.T, running *process, start func() *process, crds string, kinds []string, serves func()) {
	t.Helper()
	if operator.CRs() == cluster.CRsAggregated {
		t.Log("a version without kinds is answered with 503, as a server that is away: see TestAggregatedCustomResources")
		return
	}
	r.undefine(t, crds)
	running.stop(t)
	p := start() // returns when it is ready
	for _, path := range []string{"/healthz", "/readyz"} {
		if code, text := p.Answer(t.Context(), path); code != http.StatusOK {
			t.Errorf("without its CRD %s answers %d: %s", path, code, text)
		}
	}
	for _, kind := range kinds {
		if n, found := p.metric(t, `_kind_served{kind="`+kind+`"}`); !found || n != 0 {
			t.Errorf("without its CRD %s is served: %v, %v", kind, n, found)
		}
		if !waitsFor(p.Text(), kind) {
			t.Errorf("the log does not say that it waits for %s:\n%s", kind, p.Tail())
		}
	}
	r.define(t, crds)
	serves()
	for _, kind := range kinds {
		await(t, kind+" to be served and the process to be ready", func() (bool, string) {
			n, _ := p.metric(t, `_kind_served{kind="`+kind+`"}`)
			code, text := p.Answer(t.Context(), "/readyz")
			return n == 1 && code == http.StatusOK, text
		})
	}
	if n, _ := p.metric(t, "_panics_total"); n != 0 {
		t.Errorf("%v reconciles panicked", n)
	}
}

// waitsFor: a line of the log says that the kind is awaited.
func waitsFor(log, kind string) bool {
	for line := range strings.Lines(log) {
		if strings.Contains(line, "waiting for its CRD") && strings.Contains(line, `"`+kind+`"`) {
			return true
		}
	}
	return false
}
