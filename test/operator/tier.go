package operator

import (
	"os"
	"testing"
)

// TierVariable selects which tests on a control plane run. make test leaves it empty: the tests that call Quick run. make check
// sets it to "1": the tests that call Full run, and no others, so that no test runs in both. "all" selects both, for other
// releases of Kubernetes and other stores.
const TierVariable = "STOIC_FULL"

// Quick marks a test that make test runs. Every test on a control plane calls Quick or Full first.
func Quick(t testing.TB) {
	t.Helper()
	if os.Getenv(TierVariable) == "1" {
		t.Skip("make test runs it; " + TierVariable + "=1 selects the others")
	}
}

// Full marks a test that make check runs.
func Full(t testing.TB) {
	t.Helper()
	if !IsFull() {
		t.Skip(TierVariable + "=1 runs it, as make check does")
	}
}

// IsFull reports whether the tests of make check run.
func IsFull() bool { return os.Getenv(TierVariable) != "" }
