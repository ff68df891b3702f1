package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"k8s.io/client-go/tools/clientcmd"

	"stoic/test/command"
)

// bareClientCommand is the argument that turns this program into the bare client. The benchmark starts itself with it.
const bareClientCommand = "bare-client"

func main() {
	if isBareClient() {
		os.Exit(bareClientMain())
	}
	os.Exit(command.Main("bench", parse, run))
}

func isBareClient() bool { return len(os.Args) == 3 && os.Args[1] == bareClientCommand }

func bareClientMain() int {
	parse := func(args []string, _ io.Writer) (string, error) { return args[1], nil }
	return command.Main(bareClientCommand, parse, func(ctx context.Context, kubeconfig string, _ io.Writer) (bool, error) {
		config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
		if err != nil {
			return false, err
		}
		config.QPS = -1
		return true, runBareClient(ctx, config)
	})
}

type options struct {
	chosen   []task
	operator string
	dir      string
	root     string
}

// task is a workload at a size.
type task struct {
	workload workload
	size     int
}

func parse(args []string, out io.Writer) (options, error) {
	var o options
	var names string
	flags := command.Flags("bench", "Measure an operator, and the bare client that makes the fewest writes.", func(out io.Writer) {
		fmt.Fprintln(out, "\nWorkloads:")
		for _, w := range workloads() {
			fmt.Fprintf(out, "  %-12s %s\n", w.name, w.does)
		}
	}, out)
	flags.StringVar(&names, "workloads", "", "comma-separated `workloads` with their sizes (default "+everything+")")
	flags.StringVar(&o.operator, "operator", "", "command line of another `operator` to measure; {kubeconfig}, {metrics} and {probes} are replaced")
	flags.StringVar(&o.dir, "o", "", "folder for the table and logs (default: a new temporary one)")
	flags.StringVar(&o.root, "root", ".", "the checkout")
	err := command.Parse(flags, args, func() (err error) {
		o.chosen, err = choose(cmp.Or(names, everything))
		return err
	})
	return o, err
}

// choose returns the tasks of a list such as jobs:200,stored:10000.
func choose(names string) (chosen []task, err error) {
	all := workloads()
	for _, text := range strings.Split(names, ",") {
		name, digits, _ := strings.Cut(text, ":")
		at := slices.IndexFunc(all, func(w workload) bool { return w.name == name })
		size, err := strconv.Atoi(digits)
		if at < 0 || err != nil || size < 0 || size > 20000 {
			return nil, fmt.Errorf("-workloads: found %q, must be a workload and its size, such as jobs:200", text)
		}
		chosen = append(chosen, task{all[at], size})
	}
	return chosen, nil
}

// The subjects. Every run has Stoic.
const (
	bareClientName = "bare client"
	stoicName      = "Stoic"
	otherName      = "other"
)

// subject is a program that is measured.
type subject struct {
	name    string
	command []string
}

// run measures the chosen workloads, prints the table and reports whether Stoic keeps its budgets.
func run(ctx context.Context, o options, out io.Writer) (isKept bool, err error) {
	r, err := command.Open("bench", o.root, o.dir, os.Stderr)
	if err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	results, err := measureAll(ctx, o, r)
	if err != nil {
		return false, err
	}
	table, isKept := format(results)
	file := filepath.Join(r.Dir, "bench.md")
	if err := os.WriteFile(file, []byte(table), 0o644); err != nil {
		return false, err
	}
	fmt.Fprint(out, table)
	r.Say("the table is in %s", file)
	return isKept, ctx.Err()
}

// measureAll runs the chosen workloads. An interrupt ends it early.
func measureAll(ctx context.Context, o options, r *command.Run) ([]result, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	stoic, err := r.Operator(ctx)
	if err != nil {
		return nil, err
	}
	subjects := []subject{
		{bareClientName, []string{self, bareClientCommand, "{kubeconfig}"}},
		{stoicName, append(stoic, "--kube-api-qps", "-1", "--event-qps", "-1")}, // no rate limit, as for the bare client
	}
	if o.operator != "" {
		subjects = append(subjects, subject{otherName, strings.Fields(o.operator)})
	}
	var results []result
	for _, task := range o.chosen {
		for _, subject := range subjects {
			if subject.name == bareClientName && task.workload.isWithoutBareClient || ctx.Err() != nil {
				continue
			}
			result := measureOne(ctx, r, task.workload, task.size, subject)
			if result.err != nil {
				r.Say("%s %d, %s: FAILED: %v", task.workload.name, task.size, subject.name, result.err)
			}
			results = append(results, result)
		}
	}
	return results, nil
}
