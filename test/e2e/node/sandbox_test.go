//go:build linux

package node

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// childVariable turns this program into a process that has a sandbox and waits to be killed.
const childVariable = "STOIC_E2E_SANDBOX"

// TestSandboxEndsWithItsProcess: kill -9 of the process that has a sandbox ends everything in it.
func TestSandboxEndsWithItsProcess(t *testing.T) {
	if dir := os.Getenv(childVariable); dir != "" {
		holdSandbox(t, dir)
		return
	}
	if os.Getenv("STOIC_E2E") == "" {
		t.Skip("namespaces take root: make e2e")
	}
	dir := t.TempDir()
	if out, err := exec.Command("go", "build", "-o", filepath.Join(dir, "pause"), "../pause").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if err := os.Mkdir(filepath.Join(dir, "lib"), 0o755); err != nil {
		t.Fatal(err)
	}
	child := exec.Command(os.Args[0], "-test.run", "^"+t.Name()+"$")
	child.Env = append(os.Environ(), childVariable+"="+dir)
	child.Stderr = os.Stderr
	said, err := child.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	var first int
	lines := bufio.NewScanner(said)
	for first == 0 && lines.Scan() {
		if pid, is := strings.CutPrefix(lines.Text(), "first process: "); is {
			_, _ = fmt.Sscan(pid, &first)
		}
	}
	handle, err := unix.PidfdOpen(first, 0)
	if err != nil {
		t.Fatalf("follow the first process, %d: %v", first, err)
	}
	defer unix.Close(handle)
	if err := child.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = child.Wait() // it was killed
	// The first process of a namespace ends after all others.
	n, err := unix.Poll([]unix.PollFd{{Fd: int32(handle), Events: unix.POLLIN}}, 30_000)
	for errors.Is(err, unix.EINTR) {
		n, err = unix.Poll([]unix.PollFd{{Fd: int32(handle), Events: unix.POLLIN}}, 30_000)
	}
	if n != 1 {
		t.Errorf("the first process still runs after 30 s (%v)", err)
	}
}

// holdSandbox runs an endless process in a sandbox, and waits for its own end.
func holdSandbox(t *testing.T, dir string) {
	s, err := enclose(context.Background(), dir, filepath.Join(dir, "pause"))
	if err != nil {
		t.Fatal(err)
	}
	stubborn := s.command(context.Background(), "sh", "-c", "trap '' TERM INT HUP; echo begun; while :; do sleep 1000; done")
	said, err := stubborn.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := stubborn.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := bufio.NewReader(said).ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	fmt.Println("first process:", s.first.Process.Pid)
	t.Error(stubborn.Wait())
}
