package command

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"stoic/cli/cluster"
	"stoic/test/operator"
)

// Run is one run of a command.
type Run struct {
	// Root is the checkout, and Dir the folder for results, as absolute paths.
	Root, Dir string

	began    time.Time
	out      io.Writer
	programs operator.Programs
}

// Open creates the folder for results, a temporary one if dir is "". It writes progress to out.
func Open(name, root, dir string, out io.Writer) (r *Run, err error) {
	r = &Run{began: time.Now(), out: out}
	if dir == "" {
		dir, err = os.MkdirTemp("", "stoic-"+name+"-")
	} else {
		err = os.MkdirAll(dir, 0o755)
	}
	if err == nil {
		r.Dir, err = filepath.Abs(dir)
	}
	if err == nil {
		r.Root, err = filepath.Abs(root)
	}
	if err == nil {
		r.programs.Root = r.Root
		r.programs.Dir, err = os.MkdirTemp("", "stoic-binaries-")
	}
	if err != nil {
		return nil, fmt.Errorf("make a folder for the results: %w", err)
	}
	return r, nil
}

// Close removes the binaries.
func (r *Run) Close() error { return os.RemoveAll(r.programs.Dir) }

// Say prints a line of progress.
func (r *Run) Say(format string, values ...any) {
	fmt.Fprintf(r.out, "%6s  %s\n", time.Since(r.began).Round(time.Second), fmt.Sprintf(format, values...))
}

// Operator builds Stoic and returns its command line.
func (r *Run) Operator(ctx context.Context) ([]string, error) {
	file, err := r.Build(ctx, ".")
	if err != nil {
		return nil, err
	}
	return operator.Stoic(file), nil
}

// Build builds the control plane, so that no start of it is slow, and a main package of the checkout. It returns the file of the latter.
func (r *Run) Build(ctx context.Context, program string) (file string, err error) {
	r.Say("building the control plane and the operator %s", program)
	if _, err := cluster.Build(ctx, cluster.Options{Source: filepath.Join(r.Root, "localcluster"), Progress: os.Stderr}); err != nil {
		return "", err
	}
	return r.programs.Build(ctx, program)
}
