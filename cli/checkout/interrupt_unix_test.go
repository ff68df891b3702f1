//go:build unix

package checkout

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestRunEndsWhatItStarted: a signal ends the go command and the program that it runs.
func TestRunEndsWhatItStarted(t *testing.T) {
	bin, engine := t.TempDir(), t.TempDir()
	pipe := filepath.Join(bin, "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(engine, "tools", "go.mod"), "module tools\n")
	write(t, filepath.Join(bin, "go"), "#!/bin/sh\nyes > "+pipe+"\necho over\n") // as go waits for what it runs
	if err := os.Chmod(filepath.Join(bin, "go"), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", bin+string(os.PathListSeparator)+os.Getenv("PATH"))
	ctx, end := context.WithCancelCause(t.Context())
	done := make(chan error, 1)
	go func() { _, err := Run(ctx, engine, "./echo", nil); done <- err }()
	held, err := os.Open(pipe) // waits for its other end
	if err != nil {
		t.Fatal(err)
	}
	defer held.Close()
	if _, err := held.Read(make([]byte, 1)); err != nil { // so it runs, and not a shell that will start it
		t.Fatal(err)
	}
	end(errors.New("enough"))
	if err := <-done; err == nil || !strings.Contains(err.Error(), "enough") {
		t.Errorf("interrupted: %v", err)
	}
	if err := held.SetReadDeadline(time.Now().Add(2 * time.Minute)); err != nil {
		t.Fatal(err)
	}
	if _, err := io.Copy(io.Discard, held); err != nil { // the pipe ends when its writer ends
		t.Errorf("what go started is running: %v", err)
	}
}
