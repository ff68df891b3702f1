package integration

import (
	"net/http"
	"strings"
	"testing"

	"stoic/cli/cluster"
	"stoic/test/operator"
)

// beforeItsCRD: an operator that starts before the CRDs of its kinds exist is alive, and ready, as there is nothing to read yet.
// It reports what it waits for, and serves what is created with the CRDs. The running process ends first, and what its finalizers
// guard is deleted before. With a separate server of custom resources, a version without kinds cannot be distinguished from a
// server that does not answer.
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

// waitsFor reports whether a log line says that the operator waits for the kind.
func waitsFor(log, kind string) bool {
	for line := range strings.Lines(log) {
		if strings.Contains(line, "waiting for its CRD") && strings.Contains(line, `"`+kind+`"`) {
			return true
		}
	}
	return false
}
