package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"stoic/test/command"
	"stoic/test/faults/cases"
	"stoic/test/faults/scenario"
)

// options of the command.
type options struct {
	seed      uint64
	operator  string
	subject   string
	sandboxes int
	goals     string
	scenarios string
	name      string
	fault     string
	sample    bool
	share     float64
	part      part
	dir       string
	root      string
	list      bool
	schedules int
	sequences int
	sequence  int
	family    int
}

func main() { os.Exit(command.Main("faults", parse, run)) }

func parse(args []string, out io.Writer) (options, error) {
	var o options
	f := command.Flags("faults", "Hold an operator to its end state under faults.", func(out io.Writer) {
		fmt.Fprintf(out, "\nGoals:\n")
		for _, g := range everything() {
			fmt.Fprintf(out, "  %-4s %s\n", g.name, g.what)
		}
	}, out)
	f.Uint64Var(&o.seed, "seed", 1, "chooses samples and schedules; the same seed tries the same cases")
	f.StringVar(&o.operator, "operator", "", "command line of the `operator`; {kubeconfig}, {namespace}, {metrics}, {probes} and {flags} are replaced (default: built from here)")
	f.StringVar(&o.subject, "subject", "", "comma-separated `operators` whose scenarios are tried: "+strings.Join(operatorNames(), ", ")+" (default: all; with -operator, which takes one: training)")
	f.IntVar(&o.sandboxes, "sandboxes", 24, "operators that run side by side")
	f.StringVar(&o.goals, "goals", "", "comma-separated `goals`, such as G1,G3 (default: all)")
	f.StringVar(&o.scenarios, "scenarios", "", "comma-separated scenarios (default: all)")
	f.StringVar(&o.name, "case", "", "only the case of this `name`, as a failure prints it")
	f.StringVar(&o.fault, "fault", "", "only, and all of, the cases whose fault has this `text` in it, such as \"answer lost\"")
	f.BoolVar(&o.sample, "sample", false, "a small fixed number of cases of each goal")
	f.Float64Var(&o.share, "share", 0, "share of the usual number of cases, such as 0.1")
	f.Var(&o.part, "part", "only this `part` of everything, such as 2/3: three runs with one seed, on whatever machines, try all of it")
	f.StringVar(&o.dir, "dir", "", "folder for logs and evidence (default: a new temporary one)")
	f.StringVar(&o.root, "root", ".", "the checkout")
	f.BoolVar(&o.list, "list", false, "list the chosen cases instead of trying them (the references are run all the same)")
	f.IntVar(&o.schedules, "schedules", 100_000, "simulated schedules of G9")
	f.IntVar(&o.sequences, "sequences", 2_000, "sequences of operations that G10 compares")
	f.IntVar(&o.sequence, "sequence", -1, "of G10 only the sequence of this `number`, as a failure prints it")
	f.IntVar(&o.family, "family", -1, "of G10 only the family of this `number`, as a failure prints it")
	err := command.Parse(f, args, func() error {
		if o.operator != "" {
			o.subject = cmp.Or(o.subject, "training")
		}
		if o.name != "" && o.part.of > 0 {
			return errors.New("-case names one case, which -part may leave out")
		}
		for _, name := range split(o.subject) {
			if !slices.Contains(operatorNames(), name) || o.operator != "" && name != o.subject {
				return fmt.Errorf("-subject %q: one of %v is wanted, and only one with -operator", o.subject, operatorNames())
			}
		}
		return errors.Join(known("-goals", strings.ToUpper(o.goals), goalNames()), known("-scenarios", o.scenarios, scenarioNames()))
	})
	return o, err
}

// known fails if a list names something that does not exist: a misspelt name would select nothing.
func known(option, list string, names []string) error {
	for _, name := range split(list) {
		if !slices.Contains(names, name) {
			return fmt.Errorf("%s %q: %q is none of %v", option, list, name, names)
		}
	}
	return nil
}

func goalNames() (names []string) {
	for _, g := range everything() {
		names = append(names, g.name)
	}
	return names
}

func scenarioNames() (names []string) {
	for _, s := range scenario.All() {
		names = append(names, s.Name)
	}
	return names
}

// operatorNames returns the names of the operators that the rig tests.
func operatorNames() (names []string) {
	for _, operator := range scenario.Operators() {
		names = append(names, operator.Name)
	}
	return names
}

// split splits a list at commas and spaces; it returns nil if the list is empty.
func split(list string) []string {
	return strings.FieldsFunc(list, func(r rune) bool { return r == ',' || r == ' ' })
}

// run tries everything that the command line selects and reports whether all of it passed.
func run(ctx context.Context, o options, out io.Writer) (passed bool, err error) {
	r, err := command.Open("faults", o.root, o.dir, out)
	if err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	o.root, o.dir = r.Root, r.Dir
	r.Say("seed %d, part %s; logs and evidence in %s", o.seed, &o.part, o.dir)
	t := &tally{began: time.Now(), isBusy: o.sample}
	if o.wants(cases.AllGoals()...) {
		if err := onControlPlane(ctx, o, t, r); err != nil {
			return false, err
		}
	}
	for _, g := range o.ownProcesses() {
		if ctx.Err() == nil {
			t.process(ctx, g, o, r.Say)
		}
	}
	t.failMissed()
	t.print(out)
	if ctx.Err() != nil {
		return false, errors.New("interrupted")
	}
	return t.failures == 0, t.checkTried(o)
}

// programs returns the operators of some scenarios, each with its command line. An operator without a given command line is built.
func programs(ctx context.Context, o options, scenarios []scenario.Scenario, r *command.Run) (all []cases.Program, err error) {
	for _, operator := range scenario.Operators() {
		if !slices.ContainsFunc(scenarios, func(s scenario.Scenario) bool { return s.Operator.Name == operator.Name }) {
			continue
		}
		p := cases.Program{Operator: operator, Command: strings.Fields(o.operator)}
		if len(p.Command) == 0 {
			file, err := r.Build(ctx, operator.Package)
			if err != nil {
				return nil, err
			}
			p.Command = append([]string{file}, operator.Args...)
		}
		all = append(all, p)
	}
	return all, nil
}

// wants reports whether the command line selects one of the goals.
func (o options) wants(goals ...cases.Goal) bool {
	if o.goals == "" {
		return true
	}
	for _, asked := range split(o.goals) {
		for _, g := range goals {
			if strings.EqualFold(asked, string(g)) {
				return true
			}
		}
	}
	return false
}
