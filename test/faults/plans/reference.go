package plans

import (
	"context"
	"fmt"
	"slices"

	"stoic/test/faults/history"
	"stoic/test/faults/oracle"
	"stoic/test/faults/proxy"
	"stoic/test/faults/scenario"
)

// reference is the result of a run without faults, and the points at which a fault can strike.
type reference struct {
	oracle.Reference
	// writes counts the numbered requests, including events; requests counts these and the reads of single objects.
	writes, requests int
	// reported counts the events of watches, by resource.
	reported map[string]int
	// state is the type of the last condition that is True, or "".
	state string
	// settled: the object exists, and has ended of its own accord; restores: dependents that others delete then are recreated.
	settled, restores bool
}

func observe(rules oracle.Rules, run *history.Run, journal []proxy.Entry) reference {
	view := run.View()
	r := reference{Reference: oracle.Observe(rules, run, journal), requests: len(journal), reported: map[string]int{}, state: state(view)}
	r.settled = view.Job != nil && rules.Settled(view.Job)
	r.restores = r.settled && rules.Restores(view.Job)
	for _, e := range journal {
		r.writes = max(r.writes, e.Number)
	}
	for _, v := range run.Versions() {
		r.reported[v.Resource.Resource]++
	}
	return r
}

// state returns the state of a job, or "" if there is none.
func state(v history.View) string { return history.State(v.Job).Type }

// Learn runs every scenario twice without a fault and keeps the result. Both runs must agree: a scenario whose own end state
// varies can judge nothing.
func (s *Stage) Learn(ctx context.Context, scenarios []scenario.Scenario) []Result {
	var once, again []Plan
	for _, sc := range scenarios {
		p := fair(sc)
		p.Fault = "nothing, again"
		again = append(again, p)
		p.Fault, p.afterwards = "nothing, to learn", s.keep
		once = append(once, p)
	}
	results := s.Try(ctx, once, nil)
	return append(results, s.Try(ctx, again, nil)...)
}

// Fair is the Fault of a run without faults that runs among others.
const Fair = "nothing, among others"

// fair returns a run without faults. The canary beside it shows how fast a job is on this machine now.
func fair(sc scenario.Scenario) Plan {
	return Plan{Goal: "G0", Scenario: sc, Fault: Fair, came: always, canary: sc.Timed()}
}

// betweenCanaries is the number of plans with a canary for each run without faults.
const betweenCanaries = 5

// WithFair inserts runs without faults among plans that time canaries: the two are compared under the same load.
func WithFair(all []Plan, scenarios []scenario.Scenario) []Plan {
	scenarios = slices.DeleteFunc(slices.Clone(scenarios), func(s scenario.Scenario) bool { return !s.Operator.Canary })
	var mixed []Plan
	canaries := 0
	for _, p := range all {
		mixed = append(mixed, p)
		if !p.canary {
			continue
		}
		if canaries++; canaries%betweenCanaries == 1 && len(scenarios) > 0 {
			mixed = append(mixed, fair(scenarios[canaries/betweenCanaries%len(scenarios)]))
		}
	}
	return mixed
}

func always(*Attempt) bool { return true }

// keep waits until a run without faults is quiet and makes it the reference of its scenario.
func (s *Stage) keep(ctx context.Context, a *Attempt) error {
	if err := a.Run.Quiet(ctx, 2*stableFor); err != nil {
		return fmt.Errorf("wait for a run to be quiet: %w", err)
	}
	a.Reference = observe(a.Scenario.Operator.Rules, a.Run, a.Track.Journal())
	if most := a.Scenario.Writes; most > 0 && a.Reference.Reference.Writes > most {
		a.fail(fmt.Errorf("%d writes without faults, at most %d", a.Reference.Reference.Writes, most))
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.references[a.Scenario.Name] = a.Reference
	return nil
}
