package main

import (
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"stoic/test/faults/seeded"
)

// TestRigNotices: an operator that deletes by name alone, as others do, is found out by plans that it comes through
// otherwise. A rig that finds nothing in it would find nothing at all.
func TestRigNotices(t *testing.T) {
	if testing.Short() {
		t.Skip("it needs a control plane: left out with -short")
	}
	t.Parallel()
	const root, wrong = "../..", "engine-deletes-by-name"
	bugs, err := seeded.All()
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(bugs, func(b seeded.Bug) bool { return b.Name == wrong })
	if i < 0 {
		t.Fatalf("there is no bug %q", wrong)
	}
	overlay, err := bugs[i].Overlay(root, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	operator := filepath.Join(t.TempDir(), "operator")
	build := exec.Command("go", "build", "-overlay", overlay, "-o", operator, ".")
	build.Dir = root
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build an operator with a bug: %v\n%s", err, out)
	}
	o, err := parse([]string{"-root", root, "-dir", t.TempDir(), "-cells", "4", "-goals", "G1", "-scenarios", "scale-down", "-share", "0.0005",
		"-operator", operator + " controller --kubeconfig {kubeconfig} --namespace {namespace} --metrics-bind-address 0 --health-probe-bind-address 0 {flags}"}, t.Output())
	if err != nil {
		t.Fatal(err)
	}
	var text strings.Builder
	passed, err := run(t.Context(), o, &echo{t, &text})
	if err != nil {
		t.Fatal(err)
	}
	if passed || !strings.Contains(text.String(), "without a UID as precondition") {
		t.Errorf("nothing is noticed; passed: %v", passed)
	}
}
