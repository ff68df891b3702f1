package main

import (
	"io"
	"strings"
	"testing"
)

// TestSample tries the fixed sample of plans on a real control plane. It is what `make test` runs of `make faults`.
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
	for _, goal := range []string{"G0 ", "G1 ", "G7 ", "G18 "} {
		if !strings.Contains(text.String(), "\n"+goal) {
			t.Errorf("the table has no row for %s", goal)
		}
	}
}
