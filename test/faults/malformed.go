package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"k8s.io/client-go/tools/clientcmd"

	"stoic/test/faults/malformed"
	"stoic/test/faults/plans"
	"stoic/test/faults/scenario"
)

const (
	// malformedOfKind is how many malformed objects of each kind a full run stores, and malformedAtOnce how many of them at a
	// time; malformedInSample is how many the fixed sample stores.
	malformedOfKind, malformedAtOnce, malformedInSample = 1000, 150, 30
)

// wantsMalformed reports whether malformed objects are selected. They have no scenario, so -scenarios excludes them unless their
// goal is named.
func (o options) wantsMalformed() bool {
	if o.plan != "" {
		return strings.HasPrefix(o.plan, string(plans.Malformed)+"/")
	}
	return o.wants(plans.Malformed) && (o.goals != "" || o.scenarios == "")
}

// onlyMalformed reports whether no selected plan runs in a sandbox.
func (o options) onlyMalformed() bool {
	if o.plan != "" || !o.wantsMalformed() {
		return o.wantsMalformed()
	}
	for _, g := range plans.AllGoals() {
		if g != plans.Malformed && o.wants(g) {
			return false
		}
	}
	return true
}

// malformedOn stores malformed objects of all kinds of some operators. Nothing else is tried on their control plane afterwards.
func malformedOn(ctx context.Context, o options, stage *plans.Stage, programs []plans.Program, dir string, t *tally, say func(string, ...any)) error {
	config, err := clientcmd.BuildConfigFromFlags("", stage.Kubeconfig())
	if err != nil {
		return fmt.Errorf("read the administrator's kubeconfig: %w", err)
	}
	definitions, err := clientcmd.BuildConfigFromFlags("", stage.DefinitionsKubeconfig())
	if err != nil {
		return fmt.Errorf("read the kubeconfig for definitions: %w", err)
	}
	of := malformed.Options{Root: o.root, Dir: dir, Config: config, Definitions: definitions, Seed: o.seed, Busy: o.sample, Most: o.part.share(malformedOfKind), Round: malformedAtOnce, List: o.list, Say: say,
		Wanted: func(kind, name string) bool {
			t.meets(o, mutationOf(kind, name))
			return o.mutation(kind, name)
		}}
	switch {
	case o.plan != "":
		of.Most = 1
	case o.sample:
		of.Most = o.part.share(malformedInSample)
	case o.share > 0:
		of.Most = max(1, o.part.share(int(o.share*malformedOfKind)))
	}
	for _, p := range programs {
		of.Programs = append(of.Programs, malformed.Program{Operator: p.Operator, Command: p.Command, Kubeconfig: stage.UserKubeconfig(p.Name)})
	}
	began := time.Now()
	possible, results, err := malformed.Try(ctx, of)
	t.chosen += len(results)
	if o.list {
		for _, r := range results {
			say("%s", planOf(r).Name())
		}
		return err
	}
	var all []plans.Result
	for _, r := range results {
		all = append(all, plans.Result{Plan: planOf(r), Missed: r.Refused, Violations: r.Violations, Settled: r.Settled, Evidence: r.Evidence})
	}
	t.add(plans.Malformed, possible, all, time.Since(began))
	if err != nil {
		t.addFailure(fmt.Sprintf("%s: %v", plans.Malformed, err))
	}
	return nil
}

// mutation reports whether the command line selects a mutation and this part has it.
func (o options) mutation(kind, name string) bool {
	p := mutationOf(kind, name)
	return o.asks(p) && o.part.has(p.Name())
}

func mutationOf(kind, name string) plans.Plan {
	return plans.Plan{Goal: plans.Malformed, Scenario: scenario.Scenario{Name: kind}, Fault: name}
}

func planOf(r malformed.Result) plans.Plan {
	return plans.Plan{Goal: plans.Malformed, Scenario: scenario.Scenario{Name: r.Kind, Operator: r.Operator}, Fault: r.Name}
}
