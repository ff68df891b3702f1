package scenario

import (
	"context"
	"fmt"
	"time"
)

// Canary returns a healthy job of an operator of training jobs: how soon it runs shows whether other objects disturb it.
func Canary(o *Operator) Scenario {
	return Scenario{Name: "canary", Operator: o, Resource: TFJobs(), Manifest: tfJob("", workers(1, "")), End: all(state("Running"), runs("worker-0"))}
}

// Time runs a scenario and returns how long it took. Then it deletes the object, and waits until nothing is left of it.
func (s Scenario) Time(ctx context.Context, a Actor) (time.Duration, error) {
	began := time.Now()
	if err := s.Run(ctx, a); err != nil {
		return 0, fmt.Errorf("%s after %v: %w", a.Job, time.Since(began).Round(time.Millisecond), err)
	}
	took := time.Since(began)
	return took, s.CleanUp(ctx, a)
}
