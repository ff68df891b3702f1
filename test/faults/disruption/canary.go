package disruption

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"stoic/training"
	"stoic/training/kinds"
)

// canaryLimit is how long a healthy job of an unaffected kind may take. Its pods run for canaryRuns.
const canaryLimit, canaryRuns = 10 * time.Second, 100 * time.Millisecond

// canaryNamespace is the namespace of canaries.
const canaryNamespace = "canary"

// canary runs one small job of a kind after the other while something else happens.
type canary struct {
	g      *environment
	kind   *training.Kind
	cancel context.CancelFunc
	done   chan struct{}
	took   []time.Duration
	err    error
}

// besideCanary calls do while a canary of PyTorchJobs runs, which do must not disturb.
func (g *environment) besideCanary(ctx context.Context, do func() error) (err error) {
	canary, err := g.startCanary(ctx, kinds.PyTorchJob())
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, canary.end()) }()
	return do()
}

// startCanary starts a canary, after a first job that shows that it works.
func (g *environment) startCanary(ctx context.Context, kind *training.Kind) (*canary, error) {
	if err := g.namespace(ctx, canaryNamespace); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	c := &canary{g: g, kind: kind, cancel: cancel, done: make(chan struct{})}
	if err := c.once(ctx, 0); err != nil {
		cancel()
		return nil, fmt.Errorf("the canary before anything was done: %w", err)
	}
	go func() {
		defer close(c.done)
		for n := 1; ctx.Err() == nil; n++ {
			if err := c.once(ctx, n); err != nil && ctx.Err() == nil {
				c.err = err
				return
			}
			wait(ctx, 300*time.Millisecond)
		}
	}()
	return c, nil
}

func wait(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
}

// once runs one job and deletes it.
func (c *canary) once(ctx context.Context, n int) error {
	j := job{kind: c.kind, namespace: canaryNamespace, name: fmt.Sprintf("canary-%d", n), workers: 1, runs: canaryRuns}
	if err := c.g.submit(ctx, j); err != nil {
		return err
	}
	took, err := c.g.awaitEnds(ctx, canaryLimit, j)
	if err != nil {
		return err
	}
	c.took = append(c.took, took)
	if err := c.g.jobs(c.kind, j.namespace).Delete(ctx, j.name, metav1.DeleteOptions{}); err != nil {
		return fmt.Errorf("delete %s: %w", j, err)
	}
	return nil
}

// end stops the canary and returns its error.
func (c *canary) end() error {
	c.cancel()
	<-c.done
	sorted := slices.Sorted(slices.Values(c.took))
	c.g.Log("canary: %d jobs, median %s, longest %s", len(sorted), sorted[len(sorted)/2].Round(time.Millisecond), sorted[len(sorted)-1].Round(time.Millisecond))
	if c.err != nil {
		return fmt.Errorf("canary %d of the other kind: %w", len(sorted), c.err)
	}
	if len(sorted) < 2 {
		return fmt.Errorf("the canary sang %d times: that shows nothing", len(sorted))
	}
	return nil
}
