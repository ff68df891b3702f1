package operator

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
)

// Programs builds programs from a checkout, each once.
type Programs struct {
	// Root is the checkout; Dir is for the binaries.
	Root, Dir string

	mu    sync.Mutex
	files map[string]string // by the arguments of go build
}

// Build builds a main package of the checkout, with flags of go build, and returns the file. It builds each once.
func (p *Programs) Build(ctx context.Context, program string, flags ...string) (file string, err error) {
	flags = append(slices.Clip(flags), program)
	key := strings.Join(flags, " ")
	p.mu.Lock()
	defer p.mu.Unlock()
	if file, built := p.files[key]; built {
		return file, nil
	}
	if file, err = filepath.Abs(filepath.Join(p.Dir, fmt.Sprintf("operator-%d", len(p.files)))); err != nil {
		return "", fmt.Errorf("find the folder for the operator: %w", err)
	}
	args := append([]string{"build", "-o", file}, flags...)
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir = p.Root
	cgo := "0" // as make compiles everything
	if slices.Contains(flags, "-race") {
		cgo = "1"
	}
	cmd.Env = append(os.Environ(), "CGO_ENABLED="+cgo)
	if text, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("go %s: %w\n%s", strings.Join(args, " "), err, text)
	}
	if p.files == nil {
		p.files = map[string]string{}
	}
	p.files[key] = file
	return file, nil
}

// Stoic returns the command line of our own operator, given its file.
func Stoic(file string) []string {
	return []string{file, "controller", "--kubeconfig", "{kubeconfig}", "--namespace", "{namespace}", "--metrics-bind-address", "{metrics}",
		"--health-probe-bind-address", "{probes}", "{flags}"}
}
