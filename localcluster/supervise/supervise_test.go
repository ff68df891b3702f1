//go:build unix

package supervise

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// behaviour makes this test binary play a child instead of running the tests.
const behaviour = "SUPERVISE_TEST_BEHAVIOUR"

func TestMain(m *testing.M) {
	switch os.Getenv(behaviour) {
	case "":
		os.Exit(m.Run())
	case "wait":
		FollowParent()
		select {}
	case "fail":
		fmt.Println("listen tcp 127.0.0.1:1: bind: address already in use")
		os.Exit(3)
	case "parent":
		// Starts a child and is killed by the test.
		child, err := Start(spec(os.Getenv("DIR"), "wait"))
		if err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		if err := os.WriteFile(filepath.Join(os.Getenv("DIR"), "pid"), fmt.Append(nil, child.PID()), 0o600); err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		fmt.Println("started")
		select {}
	}
}

func spec(dir, how string) Spec {
	return Spec{
		Name: how, Program: os.Args[0], Log: filepath.Join(dir, how+".log"),
		Env: []string{behaviour + "=" + how, "DIR=" + dir},
	}
}

func begin(t *testing.T, dir, how string) *Child {
	t.Helper()
	child, err := Start(spec(dir, how))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := Stop(0, child); err != nil {
			t.Error(err)
		}
	})
	return child
}

func TestStopLeavesNothing(t *testing.T) {
	dir := t.TempDir()
	one, two := begin(t, dir, "wait"), begin(t, dir, "wait")
	if one.Failure() != nil {
		t.Error("a running child has failed")
	}
	if err := Stop(time.Second, one, two); err != nil {
		t.Fatal(err)
	}
	for _, child := range []*Child{one, two} {
		select {
		case <-child.Done():
		default:
			t.Errorf("process %d still runs", child.PID())
		}
	}
}

func TestFailureTellsWhy(t *testing.T) {
	child := begin(t, t.TempDir(), "fail")
	<-child.Done()
	failure := child.Failure()
	if failure == nil {
		t.Fatal("no failure")
	}
	for _, part := range []string{"fail ended early", "exit status 3", "bind: address already in use"} {
		if !strings.Contains(failure.Error(), part) {
			t.Errorf("%q does not say %q", failure, part)
		}
	}
	if !failure.AddressInUse() {
		t.Error("the taken port was not recognized")
	}
}

// TestChildFollowsItsParent kills a parent that has a child and waits until the
// child is gone too.
func TestChildFollowsItsParent(t *testing.T) {
	dir := t.TempDir()
	parent := begin(t, dir, "parent")
	var pid int
	eventually(t, "the parent has started its child", func() bool {
		content, err := os.ReadFile(filepath.Join(dir, "pid"))
		if err != nil {
			return false
		}
		_, err = fmt.Sscan(string(content), &pid)
		return err == nil
	})
	if err := parent.Kill(); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the child is gone", func() bool {
		status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
		zombie := err == nil && strings.Contains(string(status), "State:\tZ")
		return zombie || syscall.Kill(pid, 0) != nil
	})
}

func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	deadline := time.After(2 * time.Minute)
	ticker := time.NewTicker(10 * time.Millisecond)
	defer ticker.Stop()
	for !holds() {
		select {
		case <-deadline:
			t.Fatalf("in vain waited until %s", what)
		case <-ticker.C:
		}
	}
}

func TestTail(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log")
	if got := Tail(path, 3); !strings.Contains(got, "no such file") {
		t.Errorf("without a file: %q", got)
	}
	long := strings.Repeat("x", tailBytes)
	for content, want := range map[string]string{
		"":                           "",
		"a\nb\n":                     "a\nb",
		"a\nb\nc\nd":                 "b\nc\nd",
		long + "\nbefore\nlast\n":    "before\nlast",
		long + long + "\nb\nc\nd\n":  "b\nc\nd",
		"one line, no end of line":   "one line, no end of line",
		"\n\n\nblank lines before\n": "\n\nblank lines before",
	} {
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		if got := Tail(path, 3); !strings.HasSuffix(got, want) || strings.Count(got, "\n") > 2 {
			t.Errorf("the tail of %.20q is %.60q, want %q", content, got, want)
		}
	}
}
