//go:build unix

package cluster

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// behaviour makes this test binary act as another program instead of running the tests.
const behaviour = "CLUSTER_TEST_BEHAVIOUR"

func TestMain(m *testing.M) {
	switch os.Getenv(behaviour) {
	case "":
		os.Exit(m.Run())
	case "fail": // a control plane that cannot start
		fmt.Fprintln(os.Stderr, "no way")
		os.Exit(7)
	case "hang": // one that never becomes ready
		_, _ = io.Copy(io.Discard, os.Stdin)
		os.Exit(0)
	case "client": // a program that uses a cluster and is killed
		c, err := Start(context.Background(), Options{})
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		if err := json.NewEncoder(os.Stdout).Encode(clientReport{Dir: c.Dir(), PIDs: c.report.PIDs}); err != nil {
			os.Exit(1)
		}
		select {}
	}
}

type clientReport struct {
	Dir  string
	PIDs map[string]int
}

// TestLogsOfAFailureStay: the message names a log that can be read. Keys and data are gone.
func TestLogsOfAFailureStay(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	program := filepath.Join(t.TempDir(), "plane")
	script := "#!/bin/sh\nmkdir -p \"$3/logs\" \"$3/certificates\"; echo key > \"$3/certificates/a.key\"; echo config > \"$3/kubeconfig\"; echo why > \"$3/logs/etcd.log\"\n" +
		"echo \"etcd ended early; the end of $3/logs/etcd.log:\" >&2\nexit 1\n"
	if err := os.WriteFile(program, []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	_, err := Start(t.Context(), Options{Program: program})
	var left []string
	if err := filepath.WalkDir(os.Getenv("TMPDIR"), func(path string, entry fs.DirEntry, err error) error {
		if err == nil && !entry.IsDir() {
			left = append(left, path)
		}
		return err
	}); err != nil {
		t.Fatal(err)
	}
	if len(left) != 1 || filepath.Base(left[0]) != "etcd.log" || err == nil || !strings.Contains(err.Error(), left[0]) ||
		!strings.Contains(err.Error(), "its logs stay in "+filepath.Dir(left[0])) {
		t.Errorf("%v is left of: %v", left, err)
	}
}

func TestStartTellsWhyItFails(t *testing.T) {
	t.Setenv(behaviour, "fail")
	t.Setenv("TMPDIR", t.TempDir())
	_, err := Start(t.Context(), Options{Program: os.Args[0]})
	if err == nil || !strings.Contains(err.Error(), "no way") || !strings.Contains(err.Error(), "exit status 7") {
		t.Errorf("the error does not say why: %v", err)
	}
	assertEmpty(t, os.Getenv("TMPDIR"))
	if _, err := Start(t.Context(), Options{Program: filepath.Join(t.TempDir(), "none")}); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("without a program: %v", err)
	}
	assertEmpty(t, os.Getenv("TMPDIR"))
}

func TestStartCanBeCancelled(t *testing.T) {
	t.Setenv(behaviour, "hang")
	t.Setenv("TMPDIR", t.TempDir())
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := Start(ctx, Options{Program: os.Args[0]}); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v, want the end of the context", err)
	}
	assertEmpty(t, os.Getenv("TMPDIR"))
}

func assertEmpty(t *testing.T, dir string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) > 0 {
		t.Errorf("left in %s: %v (%v)", dir, entries, err)
	}
}

// TestKilledClientLeavesNothing kills a process that has started a cluster.
func TestKilledClientLeavesNothing(t *testing.T) {
	if testing.Short() {
		t.Skip("starts a real control plane")
	}
	if _, err := Build(t.Context(), Options{Progress: lines{t}}); err != nil {
		t.Fatal(err)
	}
	client := exec.CommandContext(t.Context(), os.Args[0])
	client.Env = append(os.Environ(), behaviour+"=client")
	output, err := client.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	client.Stderr = os.Stderr
	if err := client.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(output).ReadBytes('\n')
	if err != nil {
		t.Fatal(err)
	}
	var started clientReport
	if err := json.Unmarshal(line, &started); err != nil {
		t.Fatal(err)
	}
	if err := client.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	if client.Wait() == nil {
		t.Error("the client was not killed")
	}
	deadline := time.After(2 * time.Minute)
	ticker := time.NewTicker(50 * time.Millisecond)
	defer ticker.Stop()
	for {
		left := remains(started)
		if len(left) == 0 {
			return
		}
		select {
		case <-ticker.C:
		case <-deadline:
			t.Fatalf("left behind: %v", left)
		}
	}
}

// remains returns what is left of a cluster.
func remains(started clientReport) []string {
	var left []string
	for part, pid := range started.PIDs {
		if alive(pid) {
			left = append(left, part)
		}
	}
	if _, err := os.Stat(started.Dir); !errors.Is(err, fs.ErrNotExist) {
		left = append(left, started.Dir)
	}
	return left
}

// assertGone fails if a process of the cluster or its directory is left.
func assertGone(t *testing.T, c *Cluster) {
	t.Helper()
	pids := map[string]int{"the supervisor": c.command.Process.Pid}
	for part, pid := range c.report.PIDs {
		pids[part] = pid
	}
	for part, pid := range pids {
		// A process that was killed has closed its files some moments before it is gone.
		for until := time.Now().Add(2 * time.Minute); alive(pid) && time.Now().Before(until); {
			time.Sleep(10 * time.Millisecond)
		}
		if alive(pid) {
			t.Errorf("%s still runs as process %d", part, pid)
		}
	}
	entries, err := os.ReadDir(c.Dir())
	switch {
	case c.Err() == nil && !errors.Is(err, fs.ErrNotExist):
		t.Errorf("the directory %s is still there (%v)", c.Dir(), err)
	case c.Err() != nil && (len(entries) != 1 || entries[0].Name() != "logs"):
		t.Errorf("not the logs alone are left of what failed: %v, %v", entries, err)
	}
	if err := os.RemoveAll(c.Dir()); err != nil {
		t.Error(err)
	}
}
