package main

import (
	"flag"
	"io"
	"strings"
	"testing"
)

// TestMPIPlans tries plans of MPIJobs, each of which finds a mistake that no test without a control plane finds: see the bugs in
// test/faults/seeded that name them. Each starts a control plane and runs only if it is named: `-run TestMPIPlans/service-first`.
// TestSample has other plans of the same scenarios.
func TestMPIPlans(t *testing.T) {
	if !strings.Contains(flag.Lookup("test.run").Value.String(), "/") {
		t.Skip("each is run by its name")
	}
	for name, words := range map[string][]string{
		// Each request is rejected once: that for the Service and that for the Secret.
		"service-first": {"-goals", "G6", "-scenarios", "mpi2-succeed", "-fault", "422, 1 times"},
		// The request for the RoleBinding is rejected once and is not repeated for ten seconds.
		"binding-first": {"-goals", "G6", "-scenarios", "mpi-succeed", "-fault", "422, 1 times"},
	} {
		t.Run(name, func(t *testing.T) {
			o, err := parse(append([]string{"-root", "../..", "-dir", t.TempDir(), "-sandboxes", "12"}, words...), t.Output())
			if err != nil {
				t.Fatal(err)
			}
			var text strings.Builder
			passed, err := run(t.Context(), o, io.MultiWriter(&text, t.Output()))
			if err != nil || !passed {
				t.Errorf("error %v; passed: %v\n%s", err, passed, text.String())
			}
			if goal := "\n" + words[1]; !strings.Contains(text.String(), goal) {
				t.Errorf("no plan was tried:\n%s", text.String())
			}
		})
	}
}
