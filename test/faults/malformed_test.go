package main

import (
	"flag"
	"io"
	"strings"
	"testing"
)

// TestMalformedPlans are mutations, each of which finds a mistake that no test without an API server finds: see the bugs in
// test/faults/seeded that name them. One is run by its name, `-run TestMalformedPlans/long-name`, as each starts a control plane;
// TestSample has others.
func TestMalformedPlans(t *testing.T) {
	if !strings.Contains(flag.Lookup("test.run").Value.String(), "/") {
		t.Skip("each is run by its name")
	}
	for name, plan := range map[string]string{
		"long-name": "G7/tfjobs/metadata.name: a dot behind 199 bytes, where names of events are cut",
	} {
		t.Run(name, func(t *testing.T) {
			o, err := parse([]string{"-root", "../..", "-dir", t.TempDir(), "-subject", "training", "-plan", plan}, t.Output())
			if err != nil {
				t.Fatal(err)
			}
			var text strings.Builder
			passed, err := run(t.Context(), o, io.MultiWriter(&text, t.Output()))
			if err != nil || !passed {
				t.Errorf("error %v; passed: %v\n%s", err, passed, text.String())
			}
			if !strings.Contains(text.String(), "\nG7 ") {
				t.Errorf("no plan was tried:\n%s", text.String())
			}
		})
	}
}
