package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"

	"k8s.io/client-go/tools/clientcmd"

	"stoic/test/bench/limit"
	"stoic/test/bench/workload"
	"stoic/test/command"
)

// options of the command.
type options struct {
	workloads string
	scale     float64
	operator  string
	dir       string
	root      string
	add       string
	plots     string
	page      string
	list      bool
	noVerdict bool
}

func main() {
	if isLimit() {
		os.Exit(runLimit())
	}
	os.Exit(command.Main("bench", parse, func(ctx context.Context, o options, out io.Writer) (bool, error) {
		kept, err := run(ctx, o, out)
		return kept || o.noVerdict, err
	}))
}

// limitCommand turns this program into the bare client; the benchmark starts itself with it.
const limitCommand = "limit"

func isLimit() bool { return len(os.Args) == 3 && os.Args[1] == limitCommand }

func runLimit() int {
	kubeconfig := func(args []string, _ io.Writer) (string, error) { return args[1], nil }
	return command.Main("limit", kubeconfig, func(ctx context.Context, kubeconfig string, _ io.Writer) (bool, error) {
		config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
		if err != nil {
			return false, fmt.Errorf("read %s: %w", kubeconfig, err)
		}
		return true, limit.Run(ctx, config, os.Stderr)
	})
}

func parse(args []string, out io.Writer) (options, error) {
	var o options
	f := command.Flags("bench", "Measure an operator beside the bare client that makes the least writes.", func(out io.Writer) {
		fmt.Fprintf(out, "\nWorkloads:\n")
		describe(out)
	}, out)
	f.StringVar(&o.workloads, "workloads", "", "comma-separated `workloads`, such as jobs or jobs:200 for one of its sizes (default: all)")
	f.Float64Var(&o.scale, "scale", 1, "share of the usual sizes, such as 0.1")
	f.StringVar(&o.operator, "operator", "", "command line of another `operator`, measured beside Stoic; {kubeconfig}, {metrics} and {probes} are replaced, {namespace} by nothing")
	f.StringVar(&o.dir, "o", "", "folder for bench.json, plots and logs (default: a new temporary one)")
	f.StringVar(&o.root, "root", ".", "the checkout")
	f.StringVar(&o.add, "add", "", "`file` of an earlier run: what it measured and this run does not is kept beside the new results, and marked")
	f.StringVar(&o.plots, "plots", "", "measure nothing: draw the plots of this `file` into -o")
	f.StringVar(&o.page, "page", "", "with -plots: write the tables into this `file`, between its markers")
	f.BoolVar(&o.list, "list", false, "list the workloads")
	f.BoolVar(&o.noVerdict, "no-verdict", false, "exit with 0 also if a budget is missed")
	err := command.Parse(f, args, func() error { return o.check() })
	return o, err
}

func (o options) check() error {
	switch {
	case !(o.scale > 0 && o.scale <= 10):
		return fmt.Errorf("-scale: found %v, must be more than 0 and at most 10", o.scale)
	case o.plots != "" && o.dir == "":
		return errors.New("-plots: say with -o where to draw")
	case o.page != "" && o.plots == "":
		return errors.New("-page: say with -plots what to show")
	}
	_, err := o.chosen()
	return err
}

// chosen returns the workloads of the command line, in our order; "jobs:200" is jobs at that size only.
func (o options) chosen() ([]workload.Workload, error) {
	all := workload.All()
	if o.workloads == "" {
		return all, nil
	}
	sizes := make([][]int, len(all))
	for _, word := range strings.Split(o.workloads, ",") {
		name, size, sized := strings.Cut(strings.TrimSpace(word), ":")
		i := slices.IndexFunc(all, func(w workload.Workload) bool { return w.Name == name })
		if i < 0 {
			return nil, fmt.Errorf("-workloads: found %q, must be some of %s", name, strings.Join(workload.Names(), ","))
		}
		if !sized {
			sizes[i] = all[i].Sizes
			continue
		}
		n, err := strconv.Atoi(size)
		if err != nil || !slices.Contains(all[i].Sizes, n) {
			return nil, fmt.Errorf("-workloads: found size %q of %s, must be one of %v", size, name, all[i].Sizes)
		}
		sizes[i] = append(sizes[i], n)
	}
	var picked []workload.Workload
	for i, w := range all {
		if w.Sizes = sizes[i]; len(w.Sizes) > 0 {
			picked = append(picked, w)
		}
	}
	return picked, nil
}

func describe(out io.Writer) {
	for _, w := range workload.All() {
		sizes := strings.Trim(strings.ReplaceAll(fmt.Sprint(w.Sizes), " ", ", "), "[]")
		fmt.Fprintf(out, "  %-9s %s (%s)\n", w.Name, w.What, sizes)
	}
}
