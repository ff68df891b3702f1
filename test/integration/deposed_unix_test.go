//go:build unix

package integration

import (
	"errors"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"stoic/cli/cluster"
	"stoic/training"
)

// TestPausedLeader: a leader is paused for longer than its lease, as on a suspended or overloaded machine. When it wakes it finds
// that another leads, ends with an error, and has disturbed nothing.
func TestPausedLeader(t *testing.T) {
	full(t)
	t.Parallel() // it mostly waits
	r := bareRig(t, cluster.Options{CRDs: []string{filepath.Join(root, "deploy/crd")}})
	r.permit(t)
	paused := r.operator(t, "", "--leader-elect")
	r.awaitLeader(t, paused)
	r.busy(t, "a")
	r.awaitState(t, "default", "a-0", training.Running)
	if err := paused.Pause(); err != nil {
		t.Fatal(err)
	}
	other := r.operator(t, "", "--leader-elect")
	r.awaitLeader(t, other)
	r.busy(t, "b")
	r.awaitState(t, "default", "b-4", training.Running)
	before := r.pods(t, "default", "b-4")
	if err := paused.Resume(); err != nil {
		t.Fatal(err)
	}
	select {
	case <-paused.Done():
		var code *exec.ExitError
		if !errors.As(paused.Exit(), &code) || code.ExitCode() != 1 {
			t.Errorf("the deposed leader ended with %v, want exit code 1", paused.Exit())
		}
		_ = paused.Kill() // it is expected to have ended by itself
	case <-time.After(patience):
		t.Errorf("the deposed leader goes on:\n%s", paused.Tail())
	}
	if text := paused.Text(); !strings.Contains(text, "error: the lease was lost") {
		t.Errorf("it does not say why it ended:\n%s", paused.Tail())
	}
	for name, uid := range r.pods(t, "default", "b-4") {
		if before[name] != uid {
			t.Errorf("pod %s was recreated", name)
		}
	}
	for _, name := range []string{"a-0", "a-4", "b-0", "b-4"} {
		r.awaitState(t, "default", name, training.Succeeded)
	}
}
