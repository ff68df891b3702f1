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
	"strings"

	"stoic/test/command"
	"stoic/test/faults/cases"
	"stoic/test/faults/scenario"
)

// options of the command.
type options struct {
	selection cases.Selection
	operator  string
	subject   string
	sandboxes int
	goals     string
	scenarios string
	isBusy    bool
	dir       string
	root      string
}

func main() { os.Exit(command.Main("faults", parse, run)) }

func parse(args []string, out io.Writer) (options, error) {
	var o options
	f := command.Flags("faults", "Hold an operator to its end state under faults.", func(out io.Writer) {
		fmt.Fprintf(out, "\nGoals:\n")
		for _, g := range allGoals() {
			fmt.Fprintf(out, "  %-4s %s\n", g, cases.What(cases.Goal(g)))
		}
	}, out)
	f.Uint64Var(&o.selection.Seed, "seed", 1, "chooses samples; the same seed tries the same cases")
	f.StringVar(&o.operator, "operator", "", "command line of the `operator`; {kubeconfig}, {namespace}, {metrics} and {probes} are replaced (default: built from here)")
	f.StringVar(&o.subject, "subject", "", "comma-separated `operators` whose scenarios are tried: "+strings.Join(operatorNames(), ", ")+" (default: all; with -operator, which takes one: training)")
	f.IntVar(&o.sandboxes, "sandboxes", 24, "operators that run at the same time")
	f.StringVar(&o.goals, "goals", "", "comma-separated `goals`, such as G1,G3 (default: all); G0 is only the runs without faults")
	f.StringVar(&o.scenarios, "scenarios", "", "comma-separated `scenarios` (default: all)")
	f.Func("case", "only the case of this `name`, as a failure prints it; more than one can be given", func(name string) error {
		o.selection.Names = append(o.selection.Names, name)
		return nil
	})
	f.StringVar(&o.selection.Fault, "fault", "", "only, and all of, the cases whose fault has this `text` in it, such as \"answer lost\"")
	f.Float64Var(&o.selection.Share, "share", 0, "share of the usual number of cases, such as 0.1")
	f.BoolVar(&o.isBusy, "busy", false, "the machine has other work: what takes long is no failure")
	f.StringVar(&o.dir, "dir", "", "folder for logs and evidence (default: a new temporary one)")
	f.StringVar(&o.root, "root", ".", "the checkout")
	err := command.Parse(f, args, func() error {
		if o.operator != "" {
			o.subject = cmp.Or(o.subject, "training")
		}
		for _, name := range split(o.subject) {
			if o.operator != "" && name != o.subject {
				return fmt.Errorf("-subject %q: only one is wanted with -operator", o.subject)
			}
		}
		for _, goal := range split(strings.ToUpper(o.goals)) {
			o.selection.Goals = append(o.selection.Goals, cases.Goal(goal))
		}
		return errors.Join(known("-goals", strings.ToUpper(o.goals), allGoals()), known("-scenarios", o.scenarios, scenarioNames()), known("-subject", o.subject, operatorNames()))
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

// allGoals returns the names of all goals, with the runs without faults.
func allGoals() []string {
	names := []string{"G0"}
	for _, g := range cases.AllGoals() {
		names = append(names, string(g))
	}
	return names
}

func scenarioNames() (names []string) {
	for _, o := range scenario.Operators() {
		for _, s := range o.Scenarios {
			names = append(names, s.Name)
		}
	}
	return names
}

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
	r.Say("seed %d; logs and evidence in %s", o.selection.Seed, r.Dir)
	t := newTally(r.Say)
	for _, operator := range scenario.Operators() {
		scenarios := o.asked(operator)
		if len(scenarios) == 0 || ctx.Err() != nil {
			continue
		}
		if err := onControlPlane(ctx, o, operator, scenarios, t, r); err != nil {
			return false, err
		}
	}
	t.print(out)
	switch {
	case ctx.Err() != nil:
		return false, errors.New("interrupted")
	case t.tried == 0 && o.goals != "G0":
		return false, errors.New("no such case: nothing was tried")
	}
	return t.failures == 0, nil
}

// asked returns the scenarios of an operator that the command line selects.
func (o options) asked(operator *scenario.Operator) []scenario.Scenario {
	if o.subject != "" && !slices.Contains(split(o.subject), operator.Name) {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(operator.Scenarios), func(s scenario.Scenario) bool {
		isNamed := slices.ContainsFunc(o.selection.Names, func(name string) bool { return strings.Contains(name, "/"+s.Name+"/") })
		return o.scenarios != "" && !slices.Contains(split(o.scenarios), s.Name) || o.selection.Names != nil && !isNamed
	})
}

// onControlPlane tries the cases of one operator on a control plane, one object after another in each sandbox.
func onControlPlane(ctx context.Context, o options, operator *scenario.Operator, scenarios []scenario.Scenario, t *tally, r *command.Run) error {
	line := strings.Fields(o.operator)
	if len(line) == 0 {
		file, err := r.Build(ctx, operator.Package)
		if err != nil {
			return err
		}
		line = append([]string{file}, operator.Args...)
	}
	stage, err := cases.Open(ctx, cases.Options{
		Root: r.Root, Operator: operator, Command: line, Sandboxes: o.sandboxes, Dir: filepath.Join(r.Dir, operator.Name), Busy: o.isBusy, Say: r.Say,
	})
	if err != nil {
		return err
	}
	r.Say("%s: %d scenarios, each run twice without a fault, in %d sandboxes", operator.Name, len(scenarios), o.sandboxes)
	t.add(stage.Learn(ctx, scenarios))
	chosen, possible := stage.Choose(scenarios, o.selection)
	t.begin(operator.Name, len(chosen), possible)
	t.add(stage.Try(ctx, chosen, t.progress))
	if err := stage.Close(); err != nil {
		t.addFailure(fmt.Sprintf("at the end: %v", err))
	}
	return nil
}
