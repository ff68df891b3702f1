package main

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"stoic/test/command"
	"stoic/test/faults/cases"
	"stoic/test/faults/scenario"
)

// onControlPlane tries the cases that need a real API server. Operators share one control plane, except those marked as apart,
// which have one each.
func onControlPlane(ctx context.Context, o options, t *tally, r *command.Run) error {
	all := asked(o)
	for _, together := range planes(all) {
		if ctx.Err() != nil {
			break
		}
		if err := onOne(ctx, o, together, t, r); err != nil {
			return err
		}
	}
	if o.name != "" && t.chosen == 0 {
		return fmt.Errorf("there is no case %q", o.name)
	}
	return nil
}

// planes groups scenarios by the control plane on which they run.
func planes(all []scenario.Scenario) (found [][]scenario.Scenario) {
	places := map[string]int{}
	for _, s := range all {
		name := ""
		if s.Operator.Apart {
			name = s.Operator.Name
		}
		if _, known := places[name]; !known {
			places[name] = len(found)
			found = append(found, nil)
		}
		found[places[name]] = append(found[places[name]], s)
	}
	return found
}

// onOne tries the cases of some scenarios on one control plane, which it starts for them.
func onOne(ctx context.Context, o options, scenarios []scenario.Scenario, t *tally, r *command.Run) (err error) {
	all, err := programs(ctx, o, scenarios, r)
	if err != nil {
		return err
	}
	dir := o.dir
	if scenarios[0].Operator.Apart {
		dir = filepath.Join(o.dir, scenarios[0].Operator.Name)
	}
	stage, err := cases.Open(ctx, cases.Options{Root: o.root, Programs: all, Sandboxes: o.sandboxes, Dir: dir, Busy: o.sample, Say: r.Say})
	if err != nil {
		return err
	}
	defer func() {
		if closed := stage.Close(); err == nil && closed != nil {
			t.addFailure(fmt.Sprintf("at the end: %v", closed))
		}
	}()
	onSandboxes(ctx, o, stage, scenarios, t, r.Say)
	return nil
}

// onSandboxes tries the cases of some scenarios, one object after another in each sandbox.
func onSandboxes(ctx context.Context, o options, stage *cases.Stage, scenarios []scenario.Scenario, t *tally, say func(string, ...any)) {
	say("%d scenarios, each run twice without a fault, in %d sandboxes", len(scenarios), o.sandboxes)
	began := time.Now()
	learnt := stage.Learn(ctx, scenarios)
	t.add("G0", len(learnt), learnt, time.Since(began))
	for _, r := range learnt {
		if len(r.Violations) > 0 {
			say("FAILED %s: %s", r.Case.Name(), firstLine(r))
		}
	}
	chosen, possible := stage.Choose(scenarios, o.selection())
	for _, p := range chosen {
		t.meets(o, p)
	}
	chosen = slices.DeleteFunc(chosen, func(p cases.Case) bool { return !o.asks(p) || !o.part.has(p.Name()) })
	t.chosen += len(chosen)
	if o.list {
		for _, p := range chosen {
			say("%s", p.Name())
		}
		return
	}
	for _, b := range batches(chosen, o.sample) {
		if ctx.Err() != nil {
			break
		}
		began := time.Now()
		mine := cases.WithFair(b.cases, scenarios)
		results := stage.Try(ctx, mine, newProgress(b.name, len(mine), say).done)
		took := time.Since(began)
		for _, goal := range append(cases.AllGoals(), "G0") {
			of := slices.DeleteFunc(slices.Clone(results), func(r cases.Result) bool { return r.Case.Goal != goal })
			if len(of) > 0 {
				t.add(goal, possible[goal], of, took)
				possible[goal] = 0 // the next batch is of the same cases
			}
		}
	}
}

// batch is a list of cases that are tried in parallel.
type batch struct {
	name  string
	cases []cases.Case
}

// batches returns one batch for each goal. A small sample is tried in one batch, because it would otherwise wait for the last case
// of each goal.
func batches(chosen []cases.Case, sample bool) (all []batch) {
	names := map[string]int{}
	for _, p := range chosen {
		name := string(p.Goal)
		if sample {
			name = "sample"
		}
		if _, ok := names[name]; !ok {
			names[name] = len(all)
			all = append(all, batch{name: name})
		}
		all[names[name]].cases = append(all[names[name]].cases, p)
	}
	return all
}

// asks reports whether the command line selects a case, in any part.
func (o options) asks(p cases.Case) bool {
	return (o.name == "" || p.Name() == o.name) && strings.Contains(p.Fault(), o.fault)
}

// asked returns the scenarios that the command line selects.
func asked(o options) []scenario.Scenario {
	all := slices.DeleteFunc(scenario.All(), func(s scenario.Scenario) bool {
		return o.subject != "" && !slices.Contains(split(o.subject), s.Operator.Name) || o.sample && !s.IsSampled()
	})
	if o.name != "" {
		parts := strings.SplitN(o.name, "/", 3)
		return slices.DeleteFunc(all, func(s scenario.Scenario) bool {
			return len(parts) < 2 || s.Name != parts[1]
		})
	}
	if o.scenarios == "" {
		return all
	}
	names := split(o.scenarios)
	return slices.DeleteFunc(all, func(s scenario.Scenario) bool { return !slices.Contains(names, s.Name) })
}

func (o options) selection() cases.Selection {
	sel := cases.Selection{Seed: o.seed, Sample: o.sample, Share: o.share}
	if o.name != "" {
		return cases.Selection{Seed: o.seed, Everything: true, Goals: []cases.Goal{cases.Goal(strings.SplitN(o.name, "/", 2)[0])}}
	}
	sel.Everything = o.fault != ""
	for _, g := range cases.AllGoals() {
		if o.wants(g) {
			sel.Goals = append(sel.Goals, g)
		}
	}
	return sel
}

func firstLine(r cases.Result) string {
	line, _, _ := strings.Cut(r.Violations[0].Oracle+" "+r.Violations[0].Text, "\n")
	return line
}

// progress of one goal, reported every few seconds.
type progress struct {
	goal            string
	all             int
	tried, bad      int
	reported, began time.Time
	say             func(string, ...any)
}

func newProgress(goal string, all int, say func(string, ...any)) *progress {
	say("%s: %d cases", goal, all)
	return &progress{goal: goal, all: all, reported: time.Now(), began: time.Now(), say: say}
}

func (p *progress) done(r cases.Result) {
	p.tried++
	if len(r.Violations) > 0 {
		p.bad++
		p.say("FAILED %s: %s (%s)", r.Case.Name(), firstLine(r), r.Evidence)
	}
	if time.Since(p.reported) > 10*time.Second {
		p.reported = time.Now()
		rate := float64(p.tried) / time.Since(p.began).Seconds()
		p.say("%s: %d of %d, %d failed, %.1f cases/s", p.goal, p.tried, p.all, p.bad, rate)
	}
}
