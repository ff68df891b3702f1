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
	// living bounds the user's part of a scenario under a fault: back-offs and pauses included.
	living = 2 * time.Minute
	// calm is how long an end state must stay as it is.
	calm = 1500 * time.Millisecond
)

// What an operator of one namespace with a few jobs may hold, however many plans it has lived through. Goroutines are
// counted where CRDs come and go (package upheaval).
const mostResident, mostFiles = 256 << 20, 256

// try a plan in a cell and judge it.
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
		s.clear(a)
	}
	return result
}

// attempt makes all that a plan needs, with the operator running.
func (s *Stage) attempt(p Plan, w *worker) (*Attempt, error) {
	job := s.name()
	c := w.use(p.Scenario.Operator)
	a := &Attempt{Plan: p, Cell: c, Track: c.Proxy.Follow(job), Life: s.recorder.Life(p.Scenario.Subject(w.places, job)), worker: w,
		Reference: s.references[p.Scenario.Name], notes: map[string]time.Time{}, failed: make(chan error, 8)}
	a.Actor = scenario.Actor{Client: s.admin, Namespace: w.places.Namespace, Job: job, Life: a.Life}
	a.lists = len(a.Cell.Proxy.Lists())
	_, w.logs[c] = c.Trouble(w.logs[c])
	a.Cell.Unexpected() // of the time before
	if err := a.Cell.Serve(p.Scenario.Flags); err != nil {
		return a, err
	}
	if p.arrange != nil {
		if err := p.arrange(a); err != nil {
			return a, fmt.Errorf("arrange the fault: %w", err)
		}
	}
	return a, nil
}

// run lives the scenario to its end state.
func (s *Stage) run(ctx context.Context, a *Attempt, result *Result) error {
	life, cancel := context.WithTimeout(ctx, living)
	defer cancel()
	if a.during != nil {
		var beside sync.WaitGroup
		defer beside.Wait()
		defer cancel()
		beside.Go(func() { a.during(life, a) })
	}
	stop := func() time.Duration { return 0 }
	if a.canary {
		stop = s.canary(life, a)
	}
	if err := a.Scenario.Live(life, a.Actor); err != nil {
		return fmt.Errorf("live: %w", err)
	}
	if a.afterwards != nil {
		if err := a.afterwards(life, a); err != nil {
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

// settle awaits the reference's end state, and that it stays.
func (s *Stage) settle(ctx context.Context, a *Attempt) error {
	patience := a.patience
	if patience == 0 {
		patience = usualPatience
	}
	waiting, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	if a.spared["O1"] != "" || a.Reference.Digest == "" {
		return a.Life.Quiet(waiting, 2*calm)
	}
	for {
		if err := a.Life.Await(waiting, "the end state", a.ended); err != nil {
			return nil // O1 tells the difference better
		}
		calming, stop := context.WithTimeout(waiting, calm)
		err := a.Life.Await(calming, "a change", changed(a))
		stop()
		if err != nil { // nothing changed
			return nil
		}
	}
}

// happened says whether the fault struck.
func (a *Attempt) happened() bool {
	if a.came != nil {
		return a.came(a)
	}
	times, _ := a.Track.Fired()
	return times > 0 || a.struck
}

// judge asks all oracles.
func (s *Stage) judge(a *Attempt, lived error) []oracle.Violation {
	var found []oracle.Violation
	if lived != nil && !errors.Is(lived, context.Canceled) {
		found = append(found, oracle.Violation{Oracle: "O4", Text: lived.Error()})
	}
	for done := false; !done; {
		select {
		case err := <-a.failed:
			found = append(found, oracle.Violation{Oracle: "rig", Text: err.Error()})
		default:
			done = true
		}
	}
	for _, text := range a.Cell.Unexpected() {
		found = append(found, oracle.Violation{Oracle: "O3", Text: text})
	}
	if resident, files := a.Cell.Memory(); resident > mostResident || files > mostFiles {
		found = append(found, oracle.Violation{Oracle: "O7", Text: fmt.Sprintf("the operator holds %d MiB and %d open files, at most %d and %d",
			resident>>20, files, mostResident>>20, mostFiles)})
	}
	lines, to := a.Cell.Trouble(a.worker.logs[a.Cell])
	a.worker.logs[a.Cell] = to
	for _, line := range lines {
		found = append(found, oracle.Violation{Oracle: "O3", Text: line})
	}
	if a.Reference.Digest != "" || lived == nil {
		lists := a.Cell.Proxy.Lists()
		found = append(found, oracle.Judge(a.Scenario.Operator.Rules, a.Life, a.Track.Journal(), lists[min(a.lists, len(lists)):], a.Reference.Reference, a.limits())...)
	}
	if a.more != nil && lived == nil {
		found = append(found, a.more(a)...)
	}
	return slices.DeleteFunc(found, func(v oracle.Violation) bool { return a.spared[v.Oracle] != "" })
}
