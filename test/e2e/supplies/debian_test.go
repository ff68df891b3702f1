//go:build linux

package supplies

import (
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"
)

// TestContained: a command that is killed leaves no processes and no mounts.
func TestContained(t *testing.T) {
	if os.Getenv("STOIC_E2E") == "" {
		t.Skip("namespaces take root: make e2e")
	}
	dir := t.TempDir()
	mounted, begun := filepath.Join(dir, "mounted"), filepath.Join(dir, "begun")
	if err := os.Mkdir(mounted, 0o755); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	m := &maker{dir: dir, progress: io.Discard}
	ended := make(chan error, 1)
	go func() {
		const script = `mount -t tmpfs tmpfs "$1"; touch "$1/inside" "$2"; sleep 1000 & wait`
		ended <- m.runContained(ctx, exec.CommandContext(ctx, "sh", "-ec", script, "sh", mounted, begun))
	}()
	for deadline := time.Now().Add(30 * time.Second); ; time.Sleep(20 * time.Millisecond) { // between two looks
		if _, err := os.Stat(begun); err == nil {
			break
		}
		select {
		case err := <-ended:
			t.Fatalf("the command has ended: %v", err)
		default:
		}
		if time.Now().After(deadline) {
			t.Fatal("the command has not begun")
		}
	}
	if found, err := filepath.Glob(filepath.Join(mounted, "*")); err != nil || len(found) > 0 {
		t.Errorf("the mount is seen from outside: %v, %v", found, err)
	}
	cancel()
	select { // sleep holds the pipe for its errors until it has ended
	case err := <-ended:
		if !errors.Is(err, context.Canceled) {
			t.Errorf("a command that was ended: %v", err)
		}
	case <-time.After(30 * time.Second):
		t.Error("a process of the command is still running")
	}
}
