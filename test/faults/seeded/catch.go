package seeded

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"time"
)

// Catch switches the bug on and runs the test that must notice it. caught reports that the test failed: by its own judgement, or
// because its process ended. The project's test suite shows that the test passes without the bug. An error means that nothing was
// tried: the patched code does not compile, or there is no such test.
func (b Bug) Catch(ctx context.Context, root string) (caught bool, output string, err error) {
	dir, err := os.MkdirTemp("", "seeded-")
	if err != nil {
		return false, "", fmt.Errorf("make a folder for %s: %w", b.Name, err)
	}
	defer os.RemoveAll(dir)
	file, err := b.Overlay(root, dir)
	if err != nil {
		return false, "", err
	}
	cmd := exec.CommandContext(ctx, "go", "test", "-overlay", file, "-vet=off", "-count=1", "-timeout="+b.Within.String(), "-run", b.Run, b.Package)
	cmd.Dir = root
	// An expected failure need not be kept. What the test builds has the bug as well: an operator, for a control plane.
	cmd.Env = append(os.Environ(), "RAPID_NOFAILFILE=true", "STOIC_FULL=all", "GOFLAGS="+strings.TrimSpace(os.Getenv("GOFLAGS")+" -overlay="+file))
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = 10 * time.Second
	text, err := cmd.CombinedOutput()
	output = string(text)
	var exit *exec.ExitError
	switch {
	case ctx.Err() != nil:
		return false, output, fmt.Errorf("try to catch %s: %w", b.Name, ctx.Err())
	case err == nil && strings.Contains(output, "no tests to run"):
		return false, output, fmt.Errorf("try to catch %s: no test is called %s in %s", b.Name, b.Run, b.Package)
	case err == nil:
		return false, output, nil
	case errors.As(err, &exit) && (strings.Contains(output, "--- FAIL: ") || strings.Contains("\n"+output, "\npanic: ")):
		return true, output, nil
	}
	return false, output, fmt.Errorf("try to catch %s: the test did not run: %w\n%s", b.Name, err, output)
}
