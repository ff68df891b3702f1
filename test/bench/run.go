package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"stoic/cli/cluster"
	"stoic/test/bench/ground"
	"stoic/test/bench/report"
	"stoic/test/bench/workload"
)

// run measures or draws what is asked for and says whether the budgets are kept.
func run(ctx context.Context, o options, out io.Writer) (kept bool, err error) {
	switch {
	case o.list:
		describe(out)
		return true, nil
	case o.plots != "":
		return true, draw(o, out)
	}
	if o.dir == "" {
		o.dir, err = os.MkdirTemp("", "stoic-bench-")
	} else {
		err = os.MkdirAll(o.dir, 0o755)
	}
	if err == nil {
		o.dir, err = filepath.Abs(o.dir)
	}
	if err == nil {
		o.root, err = filepath.Abs(o.root)
	}
	if err != nil {
		return false, fmt.Errorf("make a folder for the results: %w", err)
	}
	earlier := &report.Report{}
	if o.add != "" {
		if earlier, err = report.Read(o.add); err != nil {
			return false, err
		}
	}
	r, err := measureAll(ctx, o, out)
	if err != nil {
		return false, err
	}
	keep(r, earlier)
	file := filepath.Join(o.dir, "bench.json")
	if err := r.Write(file); err != nil {
		return false, err
	}
	if err := r.Print(out); err != nil {
		return false, err
	}
	fmt.Fprintf(out, "\nresults in %s; plots: go run ./test/bench -plots %s -o %s\n", file, file, o.dir)
	if r.Machine.Busy {
		fmt.Fprintf(out, "The machine was busy with other things (up to %.1f cores): times and CPU are no good, counts are.\n", r.Machine.Neighbours)
	}
	if ctx.Err() != nil {
		return false, errors.New("interrupted; the results are those until then")
	}
	_, kept = r.Rows()
	return kept, nil
}

// measureAll goes through the chosen workloads. An interrupt ends it early.
func measureAll(ctx context.Context, o options, out io.Writer) (*report.Report, error) {
	began := time.Now()
	say := func(format string, values ...any) {
		fmt.Fprintf(out, "%6s  %s\n", time.Since(began).Round(time.Second), fmt.Sprintf(format, values...))
	}
	r := &report.Report{Date: began.UTC().Truncate(time.Second), Command: o.command(),
		Other: o.operator, Machine: machine(), Scale: o.scale}
	workloads, err := o.chosen()
	if err != nil {
		return nil, err
	}
	say("building what is measured; results in %s", o.dir)
	if _, err := cluster.Build(ctx, cluster.Options{Source: filepath.Join(o.root, "localcluster"), Progress: os.Stderr}); err != nil {
		return nil, err
	}
	binaries, err := os.MkdirTemp("", "stoic-bench-")
	if err != nil {
		return nil, fmt.Errorf("make a folder for the operator: %w", err)
	}
	defer os.RemoveAll(binaries)
	subjects, err := o.subjects(ctx, binaries)
	if err != nil {
		return nil, err
	}
	r.Versions = versions(ctx, o.root)
	for _, w := range workloads {
		for _, size := range w.Sizes {
			for _, subject := range subjects {
				if ctx.Err() != nil || !w.Has(subject.Name, size) {
					continue
				}
				result, err := w.Measure(ctx, workload.Setting{Root: o.root, Dir: o.dir, Subject: subject, Scale: o.scale, Say: say}, size)
				if err != nil {
					continue // an interrupt
				}
				say("%s %d, %s: done in %.0f s%s", w.Name, result.Ran, subject.Name, result.Seconds, trouble(result))
				r.Results = append(r.Results, result)
			}
		}
	}
	r.Seconds = time.Since(began).Seconds()
	closing(r)
	return r, nil
}

// keep what an earlier run measured and this one did not, all in the order of the workloads.
func keep(r, earlier *report.Report) {
	r.Keep(earlier)
	order := workload.Names()
	slices.SortStableFunc(r.Results, func(a, b report.Result) int {
		return cmp.Or(cmp.Compare(slices.Index(order, a.Workload), slices.Index(order, b.Workload)), cmp.Compare(a.Size, b.Size))
	})
}

// command that does the same again, wherever its results go.
func (o options) command() string {
	words := []string{"go run ./test/bench"}
	if o.workloads != "" {
		words = append(words, "-workloads "+o.workloads)
	}
	if o.scale != 1 {
		words = append(words, fmt.Sprintf("-scale %v", o.scale))
	}
	if o.operator != "" {
		words = append(words, "-operator '"+o.operator+"'")
	}
	return strings.Join(words, " ")
}

func trouble(r report.Result) string {
	if r.Failed == "" {
		return ""
	}
	return ", FAILED: " + r.Failed
}

// subjects of the run; Stoic, which is built into a folder, and its limit are always among them.
func (o options) subjects(ctx context.Context, dir string) ([]workload.Subject, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("find our own program, which is the bare client, too: %w", err)
	}
	stoic, err := ground.Build(ctx, o.root, dir)
	if err != nil {
		return nil, err
	}
	all := []workload.Subject{{Name: report.Limit, Words: []string{self, limitCommand, "{kubeconfig}"}}, {Name: report.Stoic, Words: stoic}}
	if words := strings.Fields(o.operator); len(words) > 0 {
		all = append(all, workload.Subject{Name: report.Other, Words: words, Admin: true})
	}
	return all, nil
}

func versions(ctx context.Context, root string) (v report.Versions) {
	say := func(name string, args ...string) string {
		cmd := exec.CommandContext(ctx, name, args...)
		cmd.Dir = root
		text, err := cmd.Output()
		if err != nil {
			return "unknown"
		}
		return strings.TrimSpace(string(text))
	}
	v.Stoic = say("git", "describe", "--tags", "--always", "--dirty")
	v.Go = say("go", "env", "GOVERSION")
	v.Kubernetes = say("go", "list", "-C", "localcluster", "-mod=readonly", "-m", "-f", "{{.Version}}", "k8s.io/kubernetes")
	return v
}
