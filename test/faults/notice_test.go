package main

import (
	"io"
	"slices"
	"strings"
	"testing"

	"stoic/test/faults/seeded"
	"stoic/test/operator"
)

// TestRigNotices: the rig finds that an operator deletes by name alone, as other operators do, by plans that the operator
// otherwise passes. A rig that does not find this would find nothing.
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
	o, err := parse([]string{"-root", root, "-dir", t.TempDir(), "-sandboxes", "4", "-goals", "G1", "-scenarios", "scale-down", "-share", "0.0005",
		"-operator", strings.Join(operator.Stoic(operator.Built(t, root, "-overlay", overlay)), " ")}, t.Output())
	if err != nil {
		t.Fatal(err)
	}
	var text strings.Builder
	passed, err := run(t.Context(), o, io.MultiWriter(&text, t.Output()))
	if err != nil {
		t.Fatal(err)
	}
	if passed || !strings.Contains(text.String(), "without a UID as precondition") {
		t.Errorf("nothing is noticed; passed: %v", passed)
	}
}
