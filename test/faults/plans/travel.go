package plans

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"stoic/test/faults/scenario"
)

const (
	// past is how long an operator stays in the past, or blind: time in which it could do something wrong.
	past = 1500 * time.Millisecond
)

// travels are G3: the operator is restarted and sees the cluster as it was at some version of the run, while its writes take
// effect now. There is a plan for every version, at the end of the run, and three before every step of the user's but the first,
// each with a version drawn from the past by then.
func travels(sc scenario.Scenario, ref reference, random *rand.Rand) (plans []Plan) {
	for i := range ref.Versions {
		fallback := random.IntN(2) == 0
		plans = append(plans, Plan{Goal: "G3", Scenario: sc, Fault: fmt.Sprintf("at the end, as of version %d%s", i+1, listing(fallback)),
			came: struck, notice: past + 2*usualNotice,
			afterwards: func(ctx context.Context, a *Attempt) error { return a.travel(ctx, i, fallback) }})
	}
	for step := 1; step < len(sc.Steps); step++ {
		for range 3 {
			share, fallback := random.Float64(), random.IntN(2) == 0
			p := Plan{Goal: "G3", Fault: fmt.Sprintf("before %q, as of %d %% of what there was%s", sc.Steps[step].Name, int(100*share), listing(fallback)), came: struck, notice: past + 2*usualNotice}
			p.Scenario, p.arrange = between(sc, step, func(ctx context.Context, a *Attempt) error {
				return a.travel(ctx, int(share*float64(len(a.Run.Versions()))), fallback)
			})
			plans = append(plans, p)
		}
	}
	return plans
}

func struck(a *Attempt) bool { return a.struck }

func listing(fallback bool) string {
	if fallback {
		return ", streaming lists refused"
	}
	return ""
}

// travel restarts the operator in the past of its own run and then returns it to the present.
func (a *Attempt) travel(ctx context.Context, version int, fallback bool) error {
	versions := a.Run.Versions()
	if version >= len(versions) {
		return nil // this run has fewer versions than the reference
	}
	streams := a.Sandbox.Proxy.Streams()
	a.Sandbox.Kill()
	streams.RefuseWatchList(fallback)
	streams.AsOf(versions[version].Object.GetResourceVersion())
	defer streams.RefuseWatchList(false)
	defer streams.Present()
	if err := a.Sandbox.Start(a.Scenario.Flags); err != nil {
		return err
	}
	a.struck = true
	if err := await(ctx, "the operator to watch in the past", func() bool {
		return streams.Open(a.Scenario.Resource.Resource) > 0 && streams.Open(a.Scenario.Operator.Dependents[0].Resource) > 0
	}); err != nil {
		return err
	}
	return pass(ctx, past)
}
