package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"k8s.io/client-go/tools/clientcmd"

	"stoic/test/bench/limit"
	"stoic/test/bench/workload"
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
	ctx, cancel := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer cancel()
	if len(os.Args) > 2 && os.Args[1] == limitCommand {
		os.Exit(runLimit(ctx, os.Args[2]))
	}
	o, err := parse(os.Args[1:], os.Stderr)
	switch {
	case errors.Is(err, flag.ErrHelp):
		os.Exit(0)
	case err != nil:
		os.Exit(2) // the flag package has said why
	}
	kept, err := run(ctx, o, os.Stdout)
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
	if !kept && !o.noVerdict {
		os.Exit(1)
	}
}

// limitCommand makes this program the bare client; the benchmark starts itself with it.
const limitCommand = "limit"

func runLimit(ctx context.Context, kubeconfig string) int {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err == nil {
		err = limit.Run(ctx, config, os.Stderr)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "limit:", err)
		return 1
	}
	return 0
}

func parse(args []string, out io.Writer) (options, error) {
	var o options
	f := flag.NewFlagSet("bench", flag.ContinueOnError)
	f.SetOutput(out)
	f.Usage = func() {
		fmt.Fprintf(out, "Measure an operator beside the bare client that makes the least writes. It needs Go and kubectl; everything runs on this machine.\n\nUsage: go run ./test/bench [flags]\n\n")
		f.PrintDefaults()
		fmt.Fprintf(out, "\nWorkloads:\n")
		describe(out)
	}
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
	if err := f.Parse(args); err != nil {
		return o, err
	}
	err := o.check(f.Args())
	if err != nil {
		fmt.Fprintln(out, "bench:", err)
	}
	return o, err
}

func (o options) check(rest []string) error {
	switch {
	case len(rest) > 0:
		return fmt.Errorf("unexpected argument %q", rest[0])
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

// chosen are the workloads of the command line, in our order; "jobs:200" is jobs at that of its sizes alone.
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
