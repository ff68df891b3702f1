package main

import (
	"slices"
	"strings"
	"testing"

	"stoic/test/faults/seeded"
	"stoic/test/operator"
)

// TestRigNotices: the rig finds that an operator deletes by name alone, as other operators do, by cases that the operator
// otherwise passes. A rig that does not find this would find nothing.
func TestRigNotices(t *testing.T) {
	operator.Full(t)
	if testing.Short() {
		t.Skip("it needs a control plane: left out with -short")
	}
	t.Parallel()
	bugs, err := seeded.All()
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(bugs, func(b seeded.Bug) bool { return b.Name == "engine-deletes-by-name" })
	overlay, err := bugs[i].Overlay(root, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	command := strings.Join(operator.Stoic(operator.Built(t, root, "-overlay", overlay)), " ")
	passed, text := tryCases(t, "-sandboxes", "4", "-goals", "G1", "-scenarios", "scale-down", "-share", "0.1", "-operator", command)
	if passed || !strings.Contains(text, "without a UID as precondition") {
		t.Errorf("nothing is noticed; passed: %v", passed)
	}
}
