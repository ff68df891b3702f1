package cases

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"stoic/test/faults/history"
	"stoic/test/faults/oracle"
	"stoic/test/faults/proxy"
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
	// Sample: the fixed small number of cases of each goal.
	Sample bool
	// Share of the usual number of each goal, such as 0.1; 0 is 1.
	Share float64
	// Everything: no sample is drawn.
	Everything bool
}

// Choose makes every case for which a reference has a point, and draws as many of each goal as are tried. The same seed and the
// same references choose the same cases.
func (s *Stage) Choose(scenarios []scenario.Scenario, sel Selection) (chosen []Case, possible map[Goal]int) {
	possible = map[Goal]int{}
	for n, o := range operatorsOf(scenarios) {
		for i, f := range families() {
			if sel.Goals != nil && !slices.Contains(sel.Goals, f.goal) || o.Goals != nil && !slices.Contains(o.Goals, string(f.goal)) {
				continue
			}
			var all []Case
			for _, sc := range scenarios {
				if ref, ok := s.reference(sc.Name); ok && sc.Operator.Name == o.Name && (!sel.Sample || sc.IsSampled()) {
					all = append(all, f.cases(sc, ref)...)
				}
			}
			possible[f.goal] += len(all)
			random := rand.New(rand.NewPCG(sel.Seed+uint64(i)<<32+uint64(n)<<48, 0))
			random.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
			if !sel.Sample && sel.Share == 0 {
				slices.SortStableFunc(all, firstComesFirst)
			}
			chosen = append(chosen, all[:min(f.number(sel, o), len(all))]...)
		}
	}
	return chosen, possible
}

func firstComesFirst(a, b Case) int {
	switch {
	case a.act.first && !b.act.first:
		return -1
	case b.act.first && !a.act.first:
		return 1
	}
	return 0
}

// cases returns every case of a scenario: each act at each point.
func (f family) cases(sc scenario.Scenario, ref reference) (all []Case) {
	for _, p := range f.points(sc, ref) {
		for _, act := range f.acts(sc) {
			c := Case{Goal: f.goal, Scenario: sc, point: p, act: act}
			if act.adapt == nil || c.act.adapt(&c, ref) {
				all = append(all, c)
			}
		}
	}
	return all
}

// operatorsOf returns the operators of some scenarios, in the order of the scenarios. All cases of one operator are tried before the
// cases of the next.
func operatorsOf(scenarios []scenario.Scenario) (all []*scenario.Operator) {
	for _, sc := range scenarios {
		if !slices.ContainsFunc(all, func(o *scenario.Operator) bool { return o.Name == sc.Operator.Name }) {
			all = append(all, sc.Operator)
		}
	}
	return all
}

// number returns how many cases of an operator are tried.
func (f family) number(sel Selection, o *scenario.Operator) int {
	switch {
	case sel.Everything:
		return math.MaxInt
	case sel.Sample && o.Share == 0:
		return 0
	case sel.Sample:
		return max(1, f.sample/o.Share)
	case sel.Share > 0:
		return max(1, int(sel.Share*float64(f.most)))
	}
	return f.most
}

// reference is the result of a run without faults, and the points at which a fault can strike.
type reference struct {
	oracle.Reference
	// writes counts the numbered requests, including events; requests counts these and the reads of single objects.
	writes, requests int
	// state is the type of the last condition that is True, or "".
	state string
	// settled: the object exists, and has ended by itself; restores: dependents that others delete then are recreated.
	settled, restores bool
}

func observe(rules oracle.Rules, run *history.Run, journal []proxy.Entry) reference {
	job := run.View().Job
	r := reference{Reference: oracle.Observe(rules, run, journal), requests: len(journal), state: history.State(job).Type}
	r.settled = job != nil && rules.Settled(job)
	r.restores = r.settled && rules.Restores(job)
	for _, e := range journal {
		r.writes = max(r.writes, e.Number)
	}
	return r
}

// Fair is the Fault of a run without faults that runs among others.
const Fair = "nothing, among others"

// fair returns a run without faults. The canary that runs at the same time shows how fast a job is on this machine now.
func fair(sc scenario.Scenario, name string) Case {
	return Case{Goal: "G0", Scenario: sc, act: act{name: name}}
}

// Learn runs every scenario twice without a fault and keeps the result. Both runs must agree: a scenario whose own end state
// varies can judge nothing.
func (s *Stage) Learn(ctx context.Context, scenarios []scenario.Scenario) []Result {
	var once, again []Case
	for _, sc := range scenarios {
		first := fair(sc, "nothing, to learn")
		first.point = point{isEnd: true}
		first.act.do = s.keep
		once = append(once, first)
		again = append(again, fair(sc, "nothing, again"))
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

// betweenCanaries is the number of cases with a canary for each run without faults.
const betweenCanaries = 5

// timesCanary reports whether a healthy job is timed during the case.
func (c Case) timesCanary() bool {
	isOften := c.Goal == "G6" && c.act.first && c.point.request%4 == 0 || c.Goal == "G11" && c.point.step == 1 || c.act.name == Fair
	return isOften && c.Scenario.IsTimed()
}

// WithFair inserts runs without faults among cases that time canaries: the two are compared under the same load.
func WithFair(all []Case, scenarios []scenario.Scenario) (mixed []Case) {
	scenarios = slices.DeleteFunc(slices.Clone(scenarios), func(s scenario.Scenario) bool { return !s.Operator.Canary })
	canaries := 0
	for _, c := range all {
		mixed = append(mixed, c)
		if !c.timesCanary() {
			continue
		}
		canaries++
		if canaries%betweenCanaries == 1 {
			mixed = append(mixed, fair(scenarios[canaries/betweenCanaries%len(scenarios)], Fair))
		}
	}
	return mixed
}

// canary runs a small job without faults during an attempt. It returns a function that returns how long the job took.
func (s *Stage) canary(ctx context.Context, a *Attempt) (took func() time.Duration) {
	result := make(chan time.Duration, 1)
	canary := scenario.Canary(a.Scenario.Operator)
	actor := a.actor
	actor.Job = "canary-" + a.actor.Job
	actor.Run = s.recorder.RunOf(canary.Subject(a.worker.places, actor.Job))
	a.worker.forget(actor.Job) // no case judges its requests
	go func() {
		defer close(result)
		defer s.recorder.Forget(actor.Run.Subject())
		took, err := canary.Time(ctx, actor)
		if err != nil {
			a.fail(fmt.Errorf("O8: %w", err))
			return
		}
		result <- took
	}()
	return func() time.Duration { return <-result }
}

// Try tries cases on all sandboxes and returns the results in the order in which they ended. It also passes each to done, if that
// is not nil, from one goroutine at a time.
func (s *Stage) Try(ctx context.Context, list []Case, done func(Result)) []Result {
	queue := make(chan Case, len(list))
	for _, c := range list {
		queue <- c
	}
	close(queue)
	var mu sync.Mutex
	var results []Result
	var running sync.WaitGroup
	for _, w := range s.workers {
		running.Go(func() {
			for c := range queue {
				if ctx.Err() != nil {
					return
				}
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
