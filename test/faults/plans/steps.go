package plans

import (
	"context"
	"fmt"
	"slices"
	"time"

	"stoic/test/faults/history"
	"stoic/test/faults/scenario"
)

// between inserts a function before a step of a scenario (len(Steps): before its end). It is called when the step's own condition
// holds, and the step itself is taken afterwards. The second result is the plan's arrange function.
func between(sc scenario.Scenario, step int, do func(context.Context, *Attempt) error) (scenario.Scenario, func(*Attempt) error) {
	// The scenario is made before the attempt exists, and one plan is one attempt: the variable between them is set when the
	// attempt begins.
	var attempt *Attempt
	when := sc.End
	if step < len(sc.Steps) {
		when = sc.Steps[step].When
	}
	sc.Steps = slices.Insert(slices.Clone(sc.Steps), step, scenario.Step{Name: "fault", When: when,
		Do: func(ctx context.Context, _ scenario.Actor) error { return do(ctx, attempt) }})
	return sc, func(a *Attempt) error {
		attempt = a
		return nil
	}
}

// await polls what no watch reports.
func await(ctx context.Context, what string, holds func() bool) error {
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for !holds() {
		select {
		case <-ctx.Done():
			return fmt.Errorf("wait for %s: %w", what, ctx.Err())
		case <-tick.C:
		}
	}
	return nil
}

// pass lets time pass in which something wrong could happen. There is no condition to wait for.
func pass(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return fmt.Errorf("let time pass: %w", ctx.Err())
	case <-time.After(d):
		return nil
	}
}

// ended reports whether the run has reached the end state of its reference.
func (a *Attempt) ended(v history.View) (bool, string) {
	digest := v.Digest(a.Scenario.Operator.Rules.Status)
	return digest == a.Reference.Digest, digest
}

// left reports whether the state differs from the reference's. It does not compare with the state at the moment of the call, as
// the end state may have been left just before.
func (a *Attempt) left(v history.View) (bool, string) {
	ended, digest := a.ended(v)
	return !ended, digest
}
