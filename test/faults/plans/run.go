package plans

import (
	"context"
	"fmt"
	"sync"
	"time"

	"stoic/test/faults/history"
	"stoic/test/faults/scenario"
)

// Try tries plans on all sandboxes and returns the results in the order in which they ended. It also passes each to done, if that
// is not nil, from one goroutine at a time.
func (s *Stage) Try(ctx context.Context, list []Plan, done func(Result)) []Result {
	queue := make(chan Plan)
	var (
		mu      sync.Mutex
		results []Result
		running sync.WaitGroup
	)
	for _, w := range s.workers {
		running.Go(func() {
			for p := range queue {
				r := s.try(ctx, p, w)
				mu.Lock()
				if ctx.Err() == nil {
					results = append(results, r)
					if done != nil {
						done(r)
					}
				}
				mu.Unlock()
			}
		})
	}
	for _, p := range list {
		select {
		case queue <- p:
		case <-ctx.Done():
		}
		if ctx.Err() != nil {
			break
		}
	}
	close(queue)
	running.Wait()
	return results
}

// canary runs a small job without faults beside an attempt. It returns a function that returns how long the job took from its
// creation until its pod ran.
func (s *Stage) canary(ctx context.Context, a *Attempt) (took func() time.Duration) {
	result := make(chan time.Duration, 1)
	canary := scenario.Scenario{Name: "canary", Operator: a.Scenario.Operator, Resource: scenario.TFJobs(), Manifest: canaryManifest, End: canaryRuns}
	actor := a.Actor
	actor.Job = "canary-" + a.Actor.Job
	actor.Run = s.recorder.RunOf(canary.Subject(a.worker.places, actor.Job))
	a.worker.forget(actor.Job) // no plan judges its requests
	go func() {
		defer close(result)
		defer s.recorder.Forget(actor.Run.Subject())
		began := time.Now()
		if err := canary.Run(ctx, actor); err != nil {
			a.fail(fmt.Errorf("O8: %w", err))
			return
		}
		result <- time.Since(began)
		a.fail(canary.CleanUp(ctx, actor))
	}()
	return func() time.Duration { return <-result }
}

func canaryManifest(job string) string {
	return fmt.Sprintf(`{apiVersion: kubeflow.org/v1, kind: TFJob, metadata: {name: %s}, spec: {tfReplicaSpecs: {Worker: {replicas: 1,
  template: {spec: {containers: [{name: tensorflow, image: "training:1"}]}}}}}}`, job)
}

func canaryRuns(v history.View) (bool, string) {
	return state(v) == "Running", fmt.Sprintf("state %q, %d pods", state(v), len(v.Pods))
}
