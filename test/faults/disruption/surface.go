package disruption

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"time"

	"stoic/training"
	"stoic/training/kinds"
)

const (
	// liveLimit is how soon after a kind is served the operator must serve it.
	liveLimit = 5 * time.Second
	// endLimit is how long a healthy job may take here, with a control plane that has two cores at most.
	endLimit = 20 * time.Second
	// recoveryLimit is how long it may take until everything is as if nothing had happened.
	recoveryLimit = 60 * time.Second
)

// podGroups is the CRD of the coscheduling plugin's groups. The default scheduler acts as that plugin's for these plans.
const podGroups, podGroupsFile = "podgroups.scheduling.x-k8s.io", "podgroups-plugin.yaml"

// everySet starts an operator under subsets of the CRDs and installs the others late.
func everySet(ctx context.Context, env Env) error {
	return on(ctx, env, nil, func(ctx context.Context, g *environment) error {
		for _, set := range sets(len(g.parts())) {
			if err := g.oneSet(ctx, set); err != nil {
				return fmt.Errorf("set %03b of %s: %w", set, g.parts(), err)
			}
		}
		return nil
	})
}

// sets returns subsets of n parts, as bits: none, each alone, all but each, and all. They show how one part affects another; all
// subsets would double with each kind.
func sets(n int) []int {
	all := 1<<n - 1
	found := []int{0}
	for part := range n {
		found = append(found, 1<<part, all&^(1<<part))
	}
	found = append(found, all)
	slices.Sort(found)
	return slices.Compact(found)
}

// part is a CRD that may exist or not.
type part struct {
	name, file string
	kind       *training.Kind // nil of groups
}

func (p part) String() string { return p.name }

func (e Env) parts() []part {
	parts := []part{{podGroups, e.fixture(podGroupsFile), nil}}
	for _, kind := range plain() {
		parts = append(parts, part{kind.Plural + "." + kind.Group, e.crd(kind.Plural), kind})
	}
	return parts
}

func (g *environment) oneSet(ctx context.Context, set int) error {
	ns := fmt.Sprintf("set-%d", set)
	if err := g.namespace(ctx, ns); err != nil {
		return err
	}
	var jobs []job
	add := func(p part) error {
		if p.kind == nil {
			return nil
		}
		jobs = append(jobs, job{p.kind, ns, p.kind.Singular, 1, 100 * time.Millisecond})
		return g.submit(ctx, jobs[len(jobs)-1])
	}
	for i, p := range g.parts() {
		if set>>i&1 == 0 {
			continue
		}
		if _, err := g.installFile(ctx, p.file); err != nil {
			return err
		}
		if err := add(p); err != nil {
			return err
		}
	}
	if err := g.start(ctx, "--gang-scheduler-name", "default-scheduler"); err != nil {
		return err
	}
	for i, p := range g.parts() {
		if set>>i&1 == 1 {
			continue
		}
		if err := g.arrivesLate(ctx, p, func() (job, error) { err := add(p); return append(jobs, job{})[len(jobs)-1], err }); err != nil {
			return err
		}
	}
	if err := g.awaitGroups(ctx); err != nil {
		return err
	}
	if _, err := g.awaitEnds(ctx, endLimit, jobs...); err != nil {
		return err
	}
	err := g.stop()
	for _, p := range g.parts() {
		err = errors.Join(err, g.uninstall(ctx, p.name))
	}
	return err
}

// awaitGroups waits until the operator watches groups, which it does while it serves a kind of jobs.
func (g *environment) awaitGroups(ctx context.Context) error {
	_, err := g.await(ctx, liveLimit, "the operator to see that groups are served", func(ctx context.Context) (bool, string) {
		n, err := g.sample(ctx, `training_operator_kind_served{kind="PodGroup"}`)
		return err == nil && n == 1, fmt.Sprint(n, err)
	})
	return err
}

// arrivesLate installs a CRD under the running operator, which has some seconds to serve the jobs of a kind.
func (g *environment) arrivesLate(ctx context.Context, p part, submit func() (job, error)) error {
	served, err := g.installFile(ctx, p.file)
	if err != nil {
		return err
	}
	if p.kind == nil {
		return nil
	}
	j, err := submit()
	if err != nil {
		return err
	}
	spent := time.Duration(float64(time.Since(served)) / g.stretch) // on the submission, which is slow on a slow machine
	if err := g.awaitLive(ctx, liveLimit-spent, j); err != nil {
		return err
	}
	g.Log("%s live %s after its CRD was established", p.kind.Name, time.Since(served).Round(time.Millisecond))
	return nil
}

// recreatedCRD deletes the CRD of a kind with all its jobs and recreates both, again and again.
type recreatedCRD struct {
	seed  uint64
	times int
}

func (m recreatedCRD) run(ctx context.Context, env Env) error {
	crds := filepath.Dir(env.crd("x"))
	return on(ctx, env, []string{crds}, func(ctx context.Context, g *environment) error {
		if err := g.namespace(ctx, "load"); err != nil {
			return err
		}
		if err := g.start(ctx); err != nil {
			return err
		}
		return g.besideCanary(ctx, func() error { return m.cycles(ctx, g) })
	})
}

func load() []job {
	var jobs []job
	for n := range 6 {
		jobs = append(jobs, job{kinds.TFJob(), "load", fmt.Sprintf("job-%d", n), 2, time.Duration(n%2) * 500 * time.Millisecond})
	}
	return jobs
}

func (m recreatedCRD) cycles(ctx context.Context, g *environment) error {
	random := rand.New(rand.NewPCG(m.seed, 20))
	jobs := load()
	if err := g.submit(ctx, jobs...); err != nil {
		return err
	}
	if _, err := g.awaitEnds(ctx, endLimit, jobs...); err != nil {
		return err
	}
	before, err := g.goroutines(ctx)
	if err != nil {
		return err
	}
	for n := range m.times {
		if err := g.anew(ctx, jobs); err != nil {
			return fmt.Errorf("time %d: %w", n+1, err)
		}
		if n%2 == 0 { // in the other half the CRD is deleted again, whatever the operator was doing
			if err := g.awaitLive(ctx, liveLimit, jobs[0]); err != nil {
				return fmt.Errorf("time %d: %w", n+1, err)
			}
		} else {
			wait(ctx, time.Duration(random.Int64N(int64(800*time.Millisecond))))
		}
	}
	took, err := g.awaitEnds(ctx, recoveryLimit, jobs...)
	if err != nil {
		return err
	}
	if _, err := g.awaitSound(ctx, recoveryLimit, "load", jobs...); err != nil {
		return err
	}
	g.Log("all jobs at their ends %s after the last time", took.Round(time.Millisecond))
	return g.flat(ctx, before)
}

// anew deletes the CRD with the jobs and recreates both.
func (g *environment) anew(ctx context.Context, jobs []job) error {
	const name = "tfjobs.kubeflow.org"
	if err := g.uninstall(ctx, name); err != nil {
		return err
	}
	if _, err := g.installFile(ctx, g.crd("tfjobs")); err != nil {
		return err
	}
	return g.submit(ctx, jobs...)
}

func (g *environment) goroutines(ctx context.Context) (float64, error) {
	return g.sample(ctx, "go_goroutines")
}

// flat returns an error if the operator does not return to about as many goroutines as it had.
func (g *environment) flat(ctx context.Context, before float64) error {
	const more = 10 // connections open and close
	now := 0.0
	_, err := g.await(ctx, recoveryLimit, "the operator to have no more goroutines than before", func(ctx context.Context) (bool, string) {
		var err error
		now, err = g.goroutines(ctx)
		return err == nil && now <= before+more, fmt.Sprintf("%v, had %v (%v)", now, before, err)
	})
	g.Log("goroutines: %v before, %v after", before, now)
	return err
}
