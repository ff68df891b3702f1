package plans

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"stoic/test/faults/oracle"
	"stoic/test/faults/scenario"
)

const (
	// longestRun bounds the user's part of a scenario under a fault, including back-offs and pauses.
	longestRun = 10 * time.Minute
	// stableFor is how long an end state must last.
	stableFor = 1500 * time.Millisecond
)

// mostResident and mostFiles bound what an operator of one namespace with a few jobs may hold, however many plans it has run
// through. Goroutines are counted where CRDs are created and deleted (package disruption).
const mostResident, mostFiles = 256 << 20, 256

// try tries a plan in a sandbox and judges it.
func (s *Stage) try(ctx context.Context, p Plan, w *worker) Result {
	began := time.Now()
	result := Result{Plan: p}
	a, err := s.attempt(p, w)
	if err == nil {
		err = s.run(ctx, a, &result)
		result.Missed = err == nil && !a.happened()
		result.Violations = append(result.Violations, s.judge(a, err)...)
	} else {
		result.Violations = []oracle.Violation{{Oracle: "O3", Text: err.Error()}}
	}
	if ctx.Err() != nil {
		result.Violations = []oracle.Violation{{Oracle: "run", Text: errOver.Error()}}
	}
	result.Took = time.Since(began)
	if a != nil {
		if len(result.Violations) > 0 && ctx.Err() == nil {
			result.Evidence = s.evidence(a, result)
		}
		if err := s.clear(a); err != nil && ctx.Err() == nil {
			result.Violations = append(result.Violations, oracle.Violation{Oracle: "run", Text: "clear the sandbox: " + err.Error()})
		}
	}
	return result
}

// attempt prepares all that a plan needs, with the operator running.
func (s *Stage) attempt(p Plan, w *worker) (*Attempt, error) {
	job := s.name()
	c := w.use(p.Scenario.Operator)
	a := &Attempt{Plan: p, began: time.Now(), Sandbox: c, Track: c.Proxy.Follow(job), Run: s.recorder.RunOf(p.Scenario.Subject(w.places, job)), worker: w, busy: s.options.Busy,
		Reference: s.references[p.Scenario.Name], notes: map[string]time.Time{}, failed: make(chan error, 8)}
	a.Actor = scenario.Actor{Client: s.admin, Namespace: w.places.Namespace, Job: job, Run: a.Run}
	a.lists = len(a.Sandbox.Proxy.Lists())
	_, w.logs[c] = c.Trouble(w.logs[c])
	a.Sandbox.Unexpected() // of the time before
	if err := a.Sandbox.Serve(p.Scenario.Flags); err != nil {
		return a, err
	}
	if p.arrange != nil {
		if err := p.arrange(a); err != nil {
			return a, fmt.Errorf("arrange the fault: %w", err)
		}
	}
	return a, nil
}

// run takes the scenario to its end state.
func (s *Stage) run(ctx context.Context, a *Attempt, result *Result) error {
	running, cancel := context.WithTimeout(ctx, longestRun)
	defer cancel()
	if a.during != nil {
		var beside sync.WaitGroup
		defer beside.Wait()
		defer cancel()
		beside.Go(func() { a.during(running, a) })
	}
	stop := func() time.Duration { return 0 }
	if a.canary {
		stop = s.canary(running, a)
	}
	if err := a.Scenario.Run(running, a.Actor); err != nil {
		return fmt.Errorf("run the scenario: %w", err)
	}
	if a.afterwards != nil {
		if err := a.afterwards(running, a); err != nil {
			return fmt.Errorf("after the user's part: %w", err)
		}
	}
	result.Canary = stop()
	a.Track.Lift()
	lifted := time.Now()
	if _, last := a.Track.Fired(); last.After(lifted) {
		lifted = last
	}
	err := s.settle(ctx, a)
	result.Settled = time.Since(lifted)
	return err
}

// errUnstable is returned for an operator that never comes to rest: at the moment of the judgement its state may be the right one.
var errUnstable = errors.New("the end state does not stay")

// settle waits for the reference's end state, and until it has lasted.
func (s *Stage) settle(ctx context.Context, a *Attempt) error {
	patience := a.patience
	if patience == 0 {
		patience = usualPatience
	}
	waiting, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	if a.spared["O1"] != "" || a.Reference.Digest == "" {
		return a.Run.Quiet(waiting, 2*stableFor)
	}
	for reached := false; ; reached = true {
		if err := a.Run.Await(waiting, "the end state", a.ended); err != nil && reached && ctx.Err() == nil {
			return errUnstable
		} else if err != nil {
			return nil // O1 reports the difference better
		}
		stable, stop := context.WithTimeout(ctx, stableFor) // a state that is reached late may last, too
		err := a.Run.Await(stable, "another state", a.left)
		stop()
		if err != nil { // nothing changed
			return nil
		}
		if waiting.Err() != nil {
			return errUnstable
		}
	}
}

// happened reports whether the fault struck.
func (a *Attempt) happened() bool {
	if a.came != nil {
		return a.came(a)
	}
	times, _ := a.Track.Fired()
	return times > 0 || a.struck
}

// judge returns the violations that all oracles find.
func (s *Stage) judge(a *Attempt, failure error) []oracle.Violation {
	var found []oracle.Violation
	if failure != nil && !errors.Is(failure, context.Canceled) {
		found = append(found, oracle.Violation{Oracle: "O4", Text: failure.Error()})
	}
	for done := false; !done; {
		select {
		case err := <-a.failed:
			found = append(found, oracle.Violation{Oracle: "rig", Text: err.Error()})
		default:
			done = true
		}
	}
	for _, text := range a.Sandbox.Unexpected() {
		found = append(found, oracle.Violation{Oracle: "O3", Text: text})
	}
	if resident, files := a.Sandbox.Memory(); resident > mostResident || files > mostFiles {
		found = append(found, oracle.Violation{Oracle: "O7", Text: fmt.Sprintf("the operator holds %d MiB and %d open files, at most %d and %d",
			resident>>20, files, mostResident>>20, mostFiles)})
	}
	lines, to := a.Sandbox.Trouble(a.worker.logs[a.Sandbox])
	a.worker.logs[a.Sandbox] = to
	for _, line := range lines {
		found = append(found, oracle.Violation{Oracle: "O3", Text: line})
	}
	found = append(found, oracle.Elsewhere(a.Sandbox.Proxy.Unclaimed())...)
	for _, g := range a.Run.Gaps() {
		if g.At.After(a.began) { // what was missed before concerns other runs
			found = append(found, oracle.Violation{Oracle: "rig", Text: fmt.Sprintf("the record of %s may lack versions at %s: %s", g.Resource.Resource, g.At.Format(clock), g.Why)})
		}
	}
	if a.Reference.Digest != "" || failure == nil {
		lists := a.Sandbox.Proxy.Lists()
		found = append(found, oracle.Judge(a.Scenario.Operator.Rules, a.Run, a.Track.Journal(), lists[min(a.lists, len(lists)):], a.Reference.Reference, a.limits())...)
	}
	if a.more != nil && failure == nil {
		found = append(found, a.more(a)...)
	}
	return slices.DeleteFunc(found, func(v oracle.Violation) bool { return a.spared[v.Oracle] != "" })
}
