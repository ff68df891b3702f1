package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"sync"
	"time"

	"stoic/cli/cluster"
)

// kubectl runs kubectl on one cluster, so that the output is what a user would see.
type kubectl struct{ kubeconfig string }

// output returns what kubectl prints to stdout.
func (k kubectl) output(ctx context.Context, args ...string) (string, error) {
	return k.run(ctx, nil, args...)
}

// feed gives kubectl a manifest on stdin.
func (k kubectl) feed(ctx context.Context, manifest []byte, args ...string) error {
	_, err := k.run(ctx, manifest, args...)
	return err
}

// show prints the command and its output.
func (k kubectl) show(ctx context.Context, out io.Writer, args ...string) error {
	text, err := k.run(ctx, nil, args...)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(out, "\n$ kubectl %s\n%s", commandLine(args...), text)
	return err
}

func (k kubectl) run(ctx context.Context, in []byte, args ...string) (string, error) {
	command := exec.CommandContext(ctx, "kubectl", append(cluster.KubectlArguments(k.kubeconfig), args...)...)
	command.Stdin = bytes.NewReader(in)
	var out, talk bytes.Buffer
	command.Stdout, command.Stderr = &out, &talk
	err := command.Run()
	switch {
	case errors.Is(err, exec.ErrNotFound):
		return "", errors.New("kubectl is not on the PATH; install it, version 1.32 or newer")
	case ctx.Err() != nil:
		return "", context.Cause(ctx)
	case err != nil:
		return "", fmt.Errorf("kubectl %s: %w: %s", commandLine(args...), err, strings.TrimSpace(talk.String()))
	}
	return out.String(), nil
}

// progress prints one line per step, with the seconds since the start.
type progress struct {
	mu    sync.Mutex
	out   io.Writer
	began time.Time
}

func newProgress(out io.Writer) *progress { return &progress{out: out, began: time.Now()} }

func (p *progress) say(format string, args ...any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	fmt.Fprintf(p.out, "%6.1fs  %s\n", time.Since(p.began).Seconds(), fmt.Sprintf(format, args...))
}
