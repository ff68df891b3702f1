package cases

import (
	"fmt"
	"net/http"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"stoic/test/faults/proxy"
	"stoic/test/faults/scenario"
)

// family is a goal: each of its acts at each of its points is a case.
type family struct {
	goal Goal
	// what describes for readers what is tried.
	what string
	// most is how many cases of an operator a full run tries, or all if there are fewer; sample is how many the fixed sample tries.
	most, sample int
	points       func(scenario.Scenario, reference) []point
	acts         func(scenario.Scenario) []act
}

// families returns the table of all cases, in the order in which they are tried.
func families() []family {
	return []family{
		{"G1", "crash before and after every write", 10_000, 24, writes, crashes},
		{"G2", "a second crash while recovering", 80, 4, writes, secondCrashes},
		{"G3", "restart in the past, at every version", 300, 8, versions, travels},
		{"G4", "own writes not seen for a while; watches that break off, expire, or lose events", 200, 8, writes, lags},
		{"G6", "every error at every request, once and ten times", 400, 8, requests, refusals},
		{"G11", "labels, owners, status, ledger and content edited by others", 150, 6, stepsAndEnd, tamperings},
		{"G13", "the operator down for longer than any timer runs, after every step", 100, 2, afterSteps, outages},
		{"G14", "a finished job stays finished", 40, 2, end, disturbances},
		{"G18", "deletion in three ways at every step, operator up, restarted and down", 100, 4, stepsAndEnd, deletions},
	}
}

func writes(_ scenario.Scenario, ref reference) (all []point) {
	for k := 1; k <= ref.writes; k++ {
		all = append(all, point{write: k})
	}
	return all
}

func requests(_ scenario.Scenario, ref reference) (all []point) {
	for k := 1; k <= ref.requests; k++ {
		all = append(all, point{request: k})
	}
	return all
}

// stepsAndEnd returns every step of the user but the first, and the end.
func stepsAndEnd(sc scenario.Scenario, ref reference) (all []point) {
	for k := 1; k < len(sc.Steps); k++ {
		all = append(all, point{step: k})
	}
	return append(all, end(sc, ref)...)
}

func afterSteps(sc scenario.Scenario, _ reference) (all []point) {
	for k := range sc.Steps {
		all = append(all, point{after: k + 1})
	}
	return all
}

func versions(sc scenario.Scenario, ref reference) (all []point) {
	for i := range ref.Versions {
		all = append(all, point{version: i + 1})
	}
	return append(all, stepsAndEnd(sc, ref)...)
}

func end(scenario.Scenario, reference) []point { return []point{{isEnd: true}} }

// strike returns an act that is a fault of the operator's request or write at its point.
func strike(name string, make func(*Attempt) proxy.Act) act {
	return act{name: name, fault: func(a *Attempt) proxy.Fault {
		return proxy.Fault{At: max(a.point.write, a.point.request), Reads: a.point.request > 0, Act: make(a)}
	}}
}

// crashes are G1: the operator is killed before and after every write of a run.
func crashes(scenario.Scenario) []act {
	return []act{
		strike("crash before", func(a *Attempt) proxy.Act { return proxy.Before{Do: a.crash} }),
		strike("crash after", func(a *Attempt) proxy.Act { return proxy.After{Do: a.crash} }),
	}
}

// secondCrashes are G2: a crash at a write, and another one at the j-th write of the recovery.
func secondCrashes(scenario.Scenario) (all []act) {
	for j := 1; j <= 4; j++ {
		again := func(a *Attempt, second proxy.Act) func() {
			return func() {
				at := a.track.Writes() + j
				a.crash()
				a.track.Inject(proxy.Fault{At: at, Act: second})
			}
		}
		all = append(all,
			strike(fmt.Sprintf("crash before write %d of the recovery from a crash after", j), func(a *Attempt) proxy.Act {
				return proxy.After{Do: again(a, proxy.Before{Do: a.crash})}
			}),
			strike(fmt.Sprintf("crash after write %d of the recovery from a crash before", j), func(a *Attempt) proxy.Act {
				return proxy.Before{Do: again(a, proxy.After{Do: a.crash})}
			}))
	}
	for i := range all {
		all[i].strikes = 2
	}
	return all
}

// travels are G3: the operator is restarted and sees the cluster as it was at some version of the run, while its writes take
// effect now: at the end of the run as of every version, and before every step as of some share of what there was.
func travels(scenario.Scenario) []act {
	excused := excuse{notice: past + usualNotice}
	all := []act{{name: "restart in the past, at", do: travelToVersion, excuse: excused, adapt: func(c *Case, _ reference) bool { return c.point.version > 0 }}}
	for _, percent := range []int{10, 40, 70, 90} {
		all = append(all, act{
			name: fmt.Sprintf("restart as of %d %% of what there was, at", percent), do: travelBy(percent), excuse: excused,
			adapt: func(c *Case, _ reference) bool { return c.point.step > 0 },
		})
	}
	return all
}

// renewal is how long an operator may take to watch again after a watch has broken off.
const renewal = 3 * time.Second

// lags are G4: after a write the operator's watches deliver nothing for a while, break off, or lose events. It must not repeat a
// write whose effect it cannot see. Without bookmarks nothing has updated the position of a watch that breaks off: the operator
// receives again what it knows, or lists again.
func lags(sc scenario.Scenario) []act {
	all := watched(sc)
	dependents := all[:len(all)-1]
	subject := all[len(all)-1:]
	return []act{
		lag("all watches held for 3 s after", all, 3*time.Second, (*proxy.Streams).Release),
		lag("watches of dependents held for 3 s after", dependents, 3*time.Second, (*proxy.Streams).Release),
		lag("watches of the object held for 3 s after", subject, 3*time.Second, (*proxy.Streams).Release),
		// This is longer than the operator waits for its caches: it reads from the API server.
		lag("all watches held for 13 s after", all, 13*time.Second, (*proxy.Streams).Release),
		lag("events of a second lost after", all, time.Second, (*proxy.Streams).Expire),
		lag("watches cut, no bookmarks, after", all, 0, (*proxy.Streams).Cut),
		lag("watches expired, no bookmarks, after", all, 0, (*proxy.Streams).Expire),
	}
}

// lag returns an act that holds the watches of resources for a time, and then ends that.
func lag(name string, resources []string, blind time.Duration, end func(*proxy.Streams, string)) act {
	a := strike(name, func(a *Attempt) proxy.Act {
		streams := a.sandbox.Proxy.Streams()
		endAll := func() {
			for _, r := range resources {
				end(streams, r)
			}
		}
		return proxy.Along{Do: func() {
			if blind == 0 {
				endAll()
				return
			}
			for _, r := range resources {
				streams.Hold(r)
			}
			a.later(blind, endAll)
		}}
	})
	a.noBookmarks = blind == 0
	a.check = createsNothingTwice
	a.excuse = excuse{writes: int((blind + renewal) / time.Second), notice: blind + renewal}
	return a
}

// watched returns the resources whose watches a fault affects: first the resources of the dependents, then the resource of the object.
func watched(sc scenario.Scenario) (found []string) {
	for _, r := range sc.Operator.Dependents {
		found = append(found, r.Resource)
	}
	return append(found, sc.Resource.Resource)
}

const (
	// troubleEnds is when the API server recovers, if fewer than ten requests were made by then: an operator with a good back-off
	// makes fewer.
	troubleEnds = 15 * time.Second
	// afterTrouble is longer than any pause between two retries of an operator that has received errors for troubleEnds.
	afterTrouble = 3 * time.Minute
)

// refusals are G6: a request is answered with an error, once and ten times in a row.
func refusals(scenario.Scenario) (all []act) {
	for _, error := range []struct {
		name  string
		act   proxy.Act
		first bool
	}{
		{"answer lost after the commit", proxy.Drop{}, true},
		{"409", proxy.Refuse{Code: http.StatusConflict}, false},
		{"500", proxy.Refuse{Code: http.StatusInternalServerError}, false},
		{"connection reset", proxy.Reset{}, false},
		{"410", proxy.Refuse{Code: http.StatusGone}, false},
		{"422", proxy.Refuse{Code: http.StatusUnprocessableEntity}, false},
		{"429", proxy.Refuse{Code: http.StatusTooManyRequests, RetryAfter: time.Second}, false},
		{"503", proxy.Refuse{Code: http.StatusServiceUnavailable}, false},
		{"504", proxy.Refuse{Code: http.StatusGatewayTimeout}, false},
	} {
		for _, times := range []int{1, 10} {
			all = append(all, act{
				name: fmt.Sprintf("%s, %d times, at", error.name, times),
				fault: func(a *Attempt) proxy.Fault {
					return proxy.Fault{At: a.point.request, Times: times, Reads: true, Act: error.act}
				},
				liftAfter: troubleEnds,
				first:     error.first && times == 1,
				excuse:    excuse{patience: afterTrouble, writes: 3 * times},
			})
		}
	}
	return all
}

// outages are G13: what a timer triggers is due while the operator is down.
func outages(scenario.Scenario) []act {
	return []act{{name: "operator down for 12 s after", do: beDown}}
}

// disturbances are G14: when an object has settled, another client deletes its dependents and edits its status, and the operator is
// restarted. For a job nothing is created, and its terminal condition stays. Other operators recreate what was deleted, once, and
// the end state is the same again.
func disturbances(sc scenario.Scenario) (all []act) {
	for _, status := range append(sortedKeys(sc.Operator.Statuses), "") {
		for _, restarts := range []int{0, 1, 3} {
			name := fmt.Sprintf("children deleted, %d restarts, at", restarts)
			if status != "" {
				name = fmt.Sprintf("children deleted, %d restarts, status: %s, at", restarts, status)
			}
			all = append(all, act{
				name: name, do: disturb(status, restarts), excuse: excuse{edited: true, writes: 30},
				adapt: func(c *Case, ref reference) bool {
					if !ref.restores {
						c.act.excuse.oracles = map[string]string{"O1": "the children were deleted", "O2": "the children were deleted"}
						c.act.check = staysOver
					}
					return ref.settled
				},
			})
		}
	}
	return all
}

// deletions are G18: the job is deleted in each of the three ways, with the operator up, restarted, and down until nothing is left.
func deletions(scenario.Scenario) (all []act) {
	for _, policy := range []metav1.DeletionPropagation{metav1.DeletePropagationForeground, metav1.DeletePropagationBackground, metav1.DeletePropagationOrphan} {
		for _, operator := range []string{"up", "restarted", "down"} {
			all = append(all, act{
				name: fmt.Sprintf("deleted (%s), operator %s, at", policy, operator), do: deleteJob(policy, operator), check: allGone(policy), endsRun: true,
				excuse: excuse{oracles: map[string]string{"O1": "the run ends otherwise", "O2": "the run ends otherwise"}},
				adapt: func(c *Case, ref reference) bool {
					if c.point.step > 0 && spoilsLater(c.Scenario.Steps[c.point.step:]) {
						c.Scenario.Paths = nil // it is deleted before it is malformed
					}
					return ref.state != "" // otherwise the scenario deletes it anyway
				},
			})
		}
	}
	return all
}
