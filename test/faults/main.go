package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"stoic/test/faults/plans"
)

// options of the command.
type options struct {
	seed      uint64
	operator  string
	cells     int
	goals     string
	scenarios string
	plan      string
	sample    bool
	share     float64
	dir       string
	root      string
	list      bool
	schedules int
	sequences int
}

func main() {
	ctx, cancel := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer cancel()
	o, err := parse(os.Args[1:], os.Stderr)
	switch {
	case errors.Is(err, flag.ErrHelp):
		os.Exit(0)
	case err != nil:
		os.Exit(2) // the flag package has said why
	}
	passed, err := run(ctx, o, os.Stdout)
	if err != nil {
		fmt.Fprintln(os.Stderr, "faults:", err)
		os.Exit(1)
	}
	if !passed {
		os.Exit(1)
	}
}

func parse(args []string, out io.Writer) (options, error) {
	var o options
	f := flag.NewFlagSet("faults", flag.ContinueOnError)
	f.SetOutput(out)
	f.Usage = func() {
		fmt.Fprintf(out, "Hold an operator to its end state under faults. It needs Go and kubectl; everything runs on this machine.\n\nUsage: go run ./test/faults [flags]\n\n")
		f.PrintDefaults()
		fmt.Fprintf(out, "\nGoals:\n")
		for _, g := range everything() {
			fmt.Fprintf(out, "  %-4s %s\n", g.name, g.what)
		}
	}
	f.Uint64Var(&o.seed, "seed", 1, "chooses samples and schedules; the same seed tries the same plans")
	f.StringVar(&o.operator, "operator", "", "command line of the `operator`; {kubeconfig}, {namespace}, {metrics}, {probes} and {flags} are replaced (default: Stoic, built from here)")
	f.IntVar(&o.cells, "cells", 24, "operators that live side by side")
	f.StringVar(&o.goals, "goals", "", "comma-separated `goals`, such as G1,G3 (default: all)")
	f.StringVar(&o.scenarios, "scenarios", "", "comma-separated scenarios (default: all)")
	f.StringVar(&o.plan, "plan", "", "only the plan of this `name`, as a failure prints it")
	f.BoolVar(&o.sample, "sample", false, "a small fixed number of plans of each goal")
	f.Float64Var(&o.share, "share", 0, "share of the usual number of plans, such as 0.1")
	f.StringVar(&o.dir, "dir", "", "folder for logs and evidence (default: a new temporary one)")
	f.StringVar(&o.root, "root", ".", "the checkout")
	f.BoolVar(&o.list, "list", false, "list the chosen plans instead of trying them (the references are lived all the same)")
	f.IntVar(&o.schedules, "schedules", 100_000, "simulated schedules of G9")
	f.IntVar(&o.sequences, "sequences", 2_000, "sequences of operations that G10 compares")
	if err := f.Parse(args); err != nil {
		return o, err
	}
	if f.NArg() > 0 {
		fmt.Fprintf(out, "faults: unexpected argument %q\n", f.Arg(0))
		return o, errors.New("unexpected argument")
	}
	return o, nil
}

// run tries everything that is asked for and says whether all of it passed.
func run(ctx context.Context, o options, out io.Writer) (passed bool, err error) {
	began := time.Now()
	if o.dir == "" {
		if o.dir, err = os.MkdirTemp("", "stoic-faults-"); err != nil {
			return false, fmt.Errorf("make a folder for logs: %w", err)
		}
	}
	if o.dir, err = filepath.Abs(o.dir); err != nil {
		return false, fmt.Errorf("find the folder for logs: %w", err)
	}
	if o.root, err = filepath.Abs(o.root); err != nil {
		return false, fmt.Errorf("find the checkout: %w", err)
	}
	say := func(format string, values ...any) {
		fmt.Fprintf(out, "%6s  %s\n", time.Since(began).Round(time.Second), fmt.Sprintf(format, values...))
	}
	words := strings.Fields(o.operator)
	if len(words) == 0 {
		if words, err = build(ctx, o, say); err != nil {
			return false, err
		}
	}
	say("seed %d; logs and evidence in %s", o.seed, o.dir)
	t := &tally{began: began}
	if o.wants(plans.AllGoals()...) {
		if err := onControlPlane(ctx, o, words, t, say); err != nil {
			return false, err
		}
	}
	for _, g := range processes(o) {
		if ctx.Err() == nil && o.plan == "" && !o.list && o.wants(g.goal) && (o.operator == "" || g.any) {
			t.process(ctx, g, o, say)
		}
	}
	t.print(out)
	if ctx.Err() != nil {
		return false, errors.New("interrupted")
	}
	return t.failures == 0, nil
}

// build makes Stoic and returns its command line.
func build(ctx context.Context, o options, say func(string, ...any)) ([]string, error) {
	file := filepath.Join(o.dir, "stoic")
	say("building the operator")
	cmd := exec.CommandContext(ctx, "go", "build", "-o", file, ".")
	cmd.Dir = o.root
	if text, err := cmd.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("build the operator: %w\n%s", err, text)
	}
	return []string{file, "controller", "--kubeconfig", "{kubeconfig}", "--namespace", "{namespace}", "--metrics-bind-address", "0",
		"--health-probe-bind-address", "0", "{flags}"}, nil
}

// wants says whether one of the goals is asked for.
func (o options) wants(goals ...plans.Goal) bool {
	if o.goals == "" {
		return true
	}
	for _, asked := range strings.Split(o.goals, ",") {
		for _, g := range goals {
			if strings.EqualFold(strings.TrimSpace(asked), string(g)) {
				return true
			}
		}
	}
	return false
}
