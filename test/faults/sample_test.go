package main

import (
	"io"
	"strings"
	"testing"

	"stoic/test/faults/plans"
)

// TestSample tries the fixed sample of plans on a real control plane: some of each goal. It is the part of `make faults` that
// `make test` runs.
func TestSample(t *testing.T) {
	if testing.Short() {
		t.Skip("it needs a control plane: left out with -short")
	}
	t.Parallel()
	o, err := parse([]string{"-sample", "-sandboxes", "16", "-root", "../..", "-dir", t.TempDir(), "-goals", controlPlaneGoals()}, t.Output())
	if err != nil {
		t.Fatal(err)
	}
	var text strings.Builder
	passed, err := run(t.Context(), o, io.MultiWriter(&text, t.Output()))
	if err != nil || !passed {
		t.Errorf("error %v; passed: %v", err, passed)
	}
	for _, goal := range append(plans.AllGoals(), "G0") {
		if !strings.Contains(text.String(), "\n"+string(goal)+" ") {
			t.Errorf("the table has no row for %s", goal)
		}
	}
}
