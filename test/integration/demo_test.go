package integration

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

// TestDemo: `stoic up --once` shows jobs and the objects of two other operators, valid and malformed, and leaves no file and no
// process behind.
func TestDemo(t *testing.T) {
	full(t)
	t.Parallel() // it mostly waits
	ctx, cancel := context.WithTimeout(t.Context(), 15*time.Minute)
	defer cancel()
	temporary := t.TempDir()
	source, err := filepath.Abs(filepath.Join(root, "localcluster"))
	if err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	cmd := exec.CommandContext(ctx, build(t, "./cmd/stoic"), "up", "--once", "--source", source)
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) } // it stops what it has started
	cmd.Env = append(os.Environ(), "TMPDIR="+temporary)
	var says strings.Builder
	cmd.Stderr = &says
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v\n%s\n%s", err, out, says.String())
	}
	t.Logf("it took %v", time.Since(began).Round(time.Second))
	for _, want := range []string{
		`default +tfjob.kubeflow.org/mnist +Succeeded`,
		`default +crontab.stable.example.com/friday +\* \* \* \* \*/5 .* True `,
		`default +crontab.stable.example.com/minute-61 +61 .* False `,
		`default +mydeployment.apps.example.com/web +3 +3 +3 +3 +Complete`,
		`default +mydeployment.apps.example.com/three-in-quotes +0 +0 +0 +InvalidSpec`,
		`Warning +odd-quantity +spec.tfReplicaSpecs.Worker.template.spec.containers\[0\].resources.limits.cpu: found "1e1.5"`,
		`Warning +minute-61 +spec.cronSpec: `,
		`Warning +three-in-quotes +spec.replicas: found string "3"`,
		`Warning +three-in-quotes +spec.strategy.maxSurge: `,
		`CronTab +minute-61 +.*spec.cronSpec: `,
		`MyDeployment +three-in-quotes +.*spec.replicas: `,
		`training_operator_jobs`,
	} {
		if !regexp.MustCompile("(?m)^" + want).Match(out) {
			t.Errorf("it does not print %s:\n%s", want, out)
		}
	}
	left, err := os.ReadDir(temporary)
	if err != nil || len(left) > 0 {
		t.Errorf("it leaves %v (%v)", left, err)
	}
	if lines, err := filepath.Glob("/proc/[0-9]*/cmdline"); err == nil {
		for _, name := range lines {
			if text, err := os.ReadFile(name); err == nil && strings.Contains(string(text), temporary) { // an ended process has none
				t.Errorf("it leaves a process: %q", text)
			}
		}
	}
}
