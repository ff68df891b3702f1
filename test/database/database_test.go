//go:build linux

package main

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"stoic/test/operator"
)

// TestRun: the command gets the URL of a server that answers, its exit code is returned, and nothing is left.
func TestRun(t *testing.T) {
	operator.Full(t)
	for name := range products() {
		t.Run(name, func(t *testing.T) {
			t.Setenv("TMPDIR", t.TempDir())
			if err := os.Chmod(os.Getenv("TMPDIR"), 0o755); err != nil { // the server runs as another user
				t.Fatal(err)
			}
			if err := os.Chmod(filepath.Dir(os.Getenv("TMPDIR")), 0o755); err != nil {
				t.Fatal(err)
			}
			seen := filepath.Join(t.TempDir(), "seen")
			code, err := run([]string{name, "sh", "-c", `echo "$STOIC_STORE" > "$0"; exit 3`, seen})
			if errors.Is(err, errNotInstalled) {
				t.Skip(err)
			}
			if err != nil || code != 3 {
				t.Errorf("code %d, want the command's 3: %v", code, err)
			}
			if url, err := os.ReadFile(seen); err != nil || !strings.Contains(string(url), "/{name}") {
				t.Errorf("the command has the URL %q (%v)", url, err)
			}
			if left, err := os.ReadDir(os.Getenv("TMPDIR")); err != nil || len(left) > 0 {
				t.Errorf("left: %v (%v)", left, err)
			}
		})
	}
}

func TestRunRefuses(t *testing.T) {
	for line, says := range map[string]string{"": "call it as", "postgres": "call it as", "-h true": "call it as", "redis true": `no server "redis"`} {
		if code, err := run(strings.Fields(line)); code == 0 || err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%q: code %d, %v", line, code, err)
		}
	}
}
