package cases

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"

	"stoic/test/faults/scenario"
)

// AllGoals returns, in order, the goals that are tried.
func AllGoals() (goals []Goal) {
	for _, f := range families() {
		goals = append(goals, f.goal)
	}
	return goals
}

// What describes for readers what a goal tries.
func What(g Goal) string {
	for _, f := range families() {
		if f.goal == g {
			return f.what
		}
	}
	return "no fault: the references, each run twice"
}

// Selection says which cases are tried.
type Selection struct {
	Seed uint64
	// Goals to try; nil is all.
	Goals []Goal
	// Share of the usual number of each goal, such as 0.1; 0 is 1.
	Share float64
	// Names are the names of the only cases to try; nil is all.
	Names []string
	// Fault is a text in the faults of the cases to try.
	Fault string
}

// fewest is how many cases of a goal a share has at least: the points of single cases may not occur.
const fewest = 4

// Choose makes every case for which a reference has a point, and draws as many of each goal as are tried; all, if they are selected
// by their names or faults. The same seed and the same references choose the same cases.
func (s *Stage) Choose(scenarios []scenario.Scenario, sel Selection) (chosen []Case, possible map[Goal]int) {
	possible = map[Goal]int{}
	for i, f := range families() {
		of := s.options.Operator
		if sel.Goals != nil && !slices.Contains(sel.Goals, f.goal) || of.Goals != nil && !slices.Contains(of.Goals, string(f.goal)) {
			continue
		}
		var all []Case
		for _, sc := range scenarios {
			if ref, isKnown := s.reference(sc.Name); isKnown {
				all = append(all, f.cases(sc, ref)...)
			}
		}
		possible[f.goal] = len(all)
		if sel.Names != nil || sel.Fault != "" {
			chosen = append(chosen, slices.DeleteFunc(all, func(c Case) bool {
				return sel.Names != nil && !slices.Contains(sel.Names, c.Name()) || !strings.Contains(c.Fault(), sel.Fault)
			})...)
			continue
		}
		number := f.most
		if sel.Share > 0 {
			number = max(fewest, int(sel.Share*float64(min(f.most, len(all)))))
		}
		random := rand.New(rand.NewPCG(sel.Seed, uint64(i)))
		random.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
		chosen = append(chosen, all[:min(number, len(all))]...)
	}
	return chosen, possible
}

// cases returns every case of a scenario: each act at each point.
func (f family) cases(sc scenario.Scenario, ref reference) (all []Case) {
	for _, p := range f.points(sc, ref) {
		for _, act := range f.acts(sc.Operator) {
			c := Case{Goal: f.goal, Scenario: sc, point: p, act: act}
			if act.adapt == nil || c.act.adapt(&c, ref) {
				all = append(all, c)
			}
		}
	}
	return all
}

// Learn runs every scenario twice without a fault and keeps the result. Both runs must agree: a scenario whose own end state
// varies can judge nothing.
func (s *Stage) Learn(ctx context.Context, scenarios []scenario.Scenario) []Result {
	var once, again []Case
	for _, sc := range scenarios {
		once = append(once, Case{Goal: "G0", Scenario: sc, point: point{place: atEnd}, act: act{name: "nothing, to learn, at", do: s.keep}})
		again = append(again, Case{Goal: "G0", Scenario: sc, act: act{name: "nothing, again"}})
	}
	results := s.Try(ctx, once, nil)
	return append(results, s.Try(ctx, again, nil)...)
}

// keep waits until a run without faults is quiet and makes it the reference of its scenario.
func (s *Stage) keep(ctx context.Context, a *Attempt, _ point) error {
	if err := a.run.Quiet(ctx, 2*stableFor); err != nil {
		return fmt.Errorf("wait for a run to be quiet: %w", err)
	}
	a.struck = true
	a.reference = observe(a.Scenario.Operator.Rules, a.run, a.track.Journal())
	if most := a.Scenario.Writes; most > 0 && a.reference.Writes > most {
		a.fail(fmt.Errorf("%d writes without faults, at most %d", a.reference.Writes, most))
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.references[a.Scenario.Name] = a.reference
	return nil
}

// Try tries cases on all sandboxes and returns the results in the order in which they ended. It also passes each to done, if that
// is not nil, from one goroutine at a time.
func (s *Stage) Try(ctx context.Context, list []Case, done func(Result)) (results []Result) {
	queue := make(chan Case, len(list))
	for _, c := range list {
		queue <- c
	}
	close(queue)
	var mu sync.Mutex
	var running sync.WaitGroup
	for _, w := range s.workers {
		running.Go(func() {
			for c := range queue {
				r := s.try(ctx, c, w)
				if ctx.Err() != nil {
					return
				}
				mu.Lock()
				results = append(results, r)
				if done != nil {
					done(r)
				}
				mu.Unlock()
			}
		})
	}
	running.Wait()
	return results
}
