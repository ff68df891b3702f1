//go:build unix

package process

import (
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

// TestInterruptible: the processes that a command has started end with it.
func TestInterruptible(t *testing.T) {
	pipe := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, end := context.WithCancel(t.Context())
	command := exec.CommandContext(ctx, "sh", "-c", "yes > "+pipe+"; echo over")
	Interruptible(command)
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	held, err := os.Open(pipe) // waits for its other end
	if err != nil {
		t.Fatal(err)
	}
	defer held.Close()
	if _, err := held.Read(make([]byte, 1)); err != nil { // so it runs, and not a shell that will start it
		t.Fatal(err)
	}
	end()
	if err := command.Wait(); !errors.Is(err, context.Canceled) && err == nil {
		t.Error("it ended as if nothing had been")
	}
	if err := held.SetReadDeadline(time.Now().Add(2 * time.Minute)); err != nil {
		t.Fatal(err)
	}
	if _, err := io.Copy(io.Discard, held); err != nil { // the pipe ends when its writer ends
		t.Errorf("what it started is running: %v", err)
	}
}
