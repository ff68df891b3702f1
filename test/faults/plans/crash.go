package plans

import (
	"fmt"
	"math/rand/v2"

	"stoic/test/faults/proxy"
	"stoic/test/faults/scenario"
)

// crashes are G1: the operator is killed before and after every write of a run. If it runs as several processes, the killed one
// is the one that writes, or all the others are killed.
func crashes(sc scenario.Scenario, ref reference) (plans []Plan) {
	for k := 1; k <= ref.writes; k++ {
		plans = append(plans,
			Plan{Goal: "G1", Scenario: sc, Fault: fmt.Sprintf("crash before write %d", k), arrange: func(a *Attempt) error {
				a.Track.Inject(proxy.Fault{At: k, Act: proxy.Before{Do: a.crash}})
				return nil
			}},
			Plan{Goal: "G1", Scenario: sc, Fault: fmt.Sprintf("crash after write %d", k), arrange: func(a *Attempt) error {
				a.Track.Inject(proxy.Fault{At: k, Act: proxy.After{Do: a.crash}})
				return nil
			}})
		if len(sc.Operator.Processes) > 1 {
			plans = append(plans, Plan{Goal: "G1", Scenario: sc, Fault: fmt.Sprintf("crash of the other process at write %d", k), arrange: func(a *Attempt) error {
				a.Track.Inject(proxy.Fault{At: k, Act: proxy.Along{Do: a.crashOthers}})
				return nil
			}})
		}
	}
	return plans
}

// doubleCrashes are G2: a crash at write k, and a second one at the j-th write of the recovery.
func doubleCrashes(sc scenario.Scenario, ref reference, random *rand.Rand) (plans []Plan) {
	for k := 1; k <= ref.writes; k++ {
		for j := 1; j <= ref.writes-k+1; j++ {
			first, second := random.IntN(2) == 0, random.IntN(2) == 0
			plans = append(plans, Plan{Goal: "G2", Scenario: sc, Fault: fmt.Sprintf("crash %s write %d, then %s write %d of the recovery", side(first), k, side(second), j),
				arrange: func(a *Attempt) error {
					again := func() {
						at := a.Track.Writes() + j
						a.crash()
						a.Track.Inject(proxy.Fault{At: at, Act: crash(second, a.crash)})
					}
					a.Track.Inject(proxy.Fault{At: k, Act: crash(first, again)})
					return nil
				},
				came: func(a *Attempt) bool { times, _ := a.Track.Fired(); return times > 1 }})
		}
	}
	return plans
}

func side(before bool) string {
	if before {
		return "before"
	}
	return "after"
}

func crash(before bool, do func()) proxy.Act {
	if before {
		return proxy.Before{Do: do}
	}
	return proxy.After{Do: do}
}
