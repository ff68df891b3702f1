package plans

import (
	"context"
	"fmt"
	"slices"
	"time"

	"stoic/test/faults/history"
	"stoic/test/faults/scenario"
)

// between puts something that happens in front of a step of a scenario (len(Steps): in front of its end), when the
// step's own condition holds. The step itself is taken afterwards. The second result arranges it for an attempt.
func between(sc scenario.Scenario, step int, do func(context.Context, *Attempt) error) (scenario.Scenario, func(*Attempt) error) {
	// The scenario is made before there is an attempt, and one plan is one attempt: the sandbox between them is filled in
	// when the attempt begins.
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

// await looks at what no watch tells of.
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

// pass lets time pass in which something wrong could happen, which has no condition to wait for.
func pass(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return fmt.Errorf("let time pass: %w", ctx.Err())
	case <-time.After(d):
		return nil
	}
}

// ended says whether the run has come to the end state of its reference.
func (a *Attempt) ended(v history.View) (bool, string) {
	digest := v.Digest(a.Scenario.Operator.Rules.Status)
	return digest == a.Reference.Digest, digest
}

// changed says whether there is another state than now.
func changed(a *Attempt) func(history.View) (bool, string) {
	status := a.Scenario.Operator.Rules.Status
	now := a.Run.View().Digest(status)
	return func(v history.View) (bool, string) { return v.Digest(status) != now, "nothing" }
}
