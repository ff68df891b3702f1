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

	"stoic/test/bench/report"
	"stoic/test/bench/workload"
	"stoic/test/command"
)

// run measures or draws what the options select and reports whether the budgets are kept.
func run(ctx context.Context, o options, out io.Writer) (kept bool, err error) {
	switch {
	case o.list:
		describe(out)
		return true, nil
	case o.plots != "":
		return true, draw(o, out)
	}
	c, err := command.Open("bench", o.root, o.dir, out)
	if err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, c.Close()) }()
	earlier := &report.Report{}
	if o.add != "" {
		if earlier, err = report.Read(o.add); err != nil {
			return false, err
		}
	}
	r, err := measureAll(ctx, o, c)
	if err != nil {
		return false, err
	}
	keep(r, earlier)
	file := filepath.Join(c.Dir, "bench.json")
	if err := r.Write(file); err != nil {
		return false, err
	}
	if err := r.Print(out); err != nil {
		return false, err
	}
	fmt.Fprintf(out, "\nresults in %s; plots: go run ./test/bench -plots %s -o %s\n", file, file, c.Dir)
	if r.Machine.Busy {
		fmt.Fprintf(out, "The machine was busy with other things (up to %.1f cores): times and CPU are no good, counts are.\n", r.Machine.Neighbours)
	}
	if ctx.Err() != nil {
		return false, errors.New("interrupted; the results are those until then")
	}
	_, kept = r.Rows()
	return kept, nil
}

// measureAll runs the chosen workloads. An interrupt ends it early.
func measureAll(ctx context.Context, o options, c *command.Run) (*report.Report, error) {
	began := time.Now()
	r := &report.Report{Date: began.UTC().Truncate(time.Second), Command: o.command(),
		Other: o.operator, Machine: machine(), Scale: o.scale}
	workloads, err := o.chosen()
	if err != nil {
		return nil, err
	}
	c.Say("results in %s", c.Dir)
	subjects, err := o.subjects(ctx, c)
	if err != nil {
		return nil, err
	}
	r.Versions = versions(ctx, c.Root)
	for _, w := range workloads {
		for _, size := range w.Sizes {
			for _, subject := range subjects {
				if ctx.Err() != nil || !w.Has(subject.Name, size) {
					continue
				}
				result, err := w.Measure(ctx, workload.Setting{Root: c.Root, Dir: c.Dir, Subject: subject, Scale: o.scale, Say: c.Say}, size)
				if err != nil {
					continue // an interrupt
				}
				c.Say("%s %d, %s: done in %.0f s%s", w.Name, result.Ran, subject.Name, result.Seconds, trouble(result))
				r.Results = append(r.Results, result)
			}
		}
	}
	r.Seconds = time.Since(began).Seconds()
	closing(r)
	return r, nil
}

// keep adds what an earlier run measured and this one did not, all in the order of the workloads.
func keep(r, earlier *report.Report) {
	r.Keep(earlier)
	order := workload.Names()
	slices.SortStableFunc(r.Results, func(a, b report.Result) int {
		return cmp.Or(cmp.Compare(slices.Index(order, a.Workload), slices.Index(order, b.Workload)), cmp.Compare(a.Size, b.Size))
	})
}

// command returns the command that repeats the run, whatever the destination of its results.
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

// subjects returns those of the run; Stoic and its limit are always among them.
func (o options) subjects(ctx context.Context, c *command.Run) ([]workload.Subject, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("find our own program, which is the bare client, too: %w", err)
	}
	stoic, err := c.Operator(ctx)
	if err != nil {
		return nil, err
	}
	stoic = append(stoic, "--kube-api-qps", "-1", "--event-qps", "-1") // no rate limit, as for the bare client
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
