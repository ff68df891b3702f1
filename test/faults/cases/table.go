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
	// most is how many cases of an operator a full run tries, or all if there are fewer.
	most   int
	points func(scenario.Scenario, reference) []point
	acts   func(*scenario.Operator) []act
}

// families returns the table of all cases, in the order in which they are tried.
func families() []family {
	return []family{
		{"G1", "crash before and after every write", 10_000, writes, crashes},
		{"G2", "a second crash while recovering", 24, writes, secondCrashes},
		{"G3", "restart in the past, at every version", 100, versions, travels},
		{"G4", "own writes not seen for a while; watches that break off, expire, or lose events", 70, writes, lags},
		{"G5", "the answer to a request lost after the commit", 80, requests, lostAnswers},
		{"G6", "every error at every request, once and ten times", 60, requests, refusals},
		{"G11", "labels, owners, status and ledger edited by others", 40, stepsAndEnd, tamperings},
		{"G13", "the operator down for longer than any timer runs, after every step", 40, afterSteps, outages},
		{"G14", "a finished job stays finished", 12, end, disturbances},
		{"G18", "deletion in three ways at every step, operator up, restarted and down", 24, stepsAndEnd, deletions},
	}
}

func writes(_ scenario.Scenario, ref reference) []point { return upTo(ref.writes, atWrite) }

func requests(_ scenario.Scenario, ref reference) []point { return upTo(ref.requests, atRequest) }

func afterSteps(sc scenario.Scenario, _ reference) []point { return upTo(len(sc.Steps), afterStep) }

func end(scenario.Scenario, reference) []point { return []point{{place: atEnd}} }

// stepsAndEnd returns every step of the user but the first, and the end.
func stepsAndEnd(sc scenario.Scenario, _ reference) []point {
	return append(upTo(len(sc.Steps)-1, beforeStep), point{place: atEnd})
}

func versions(sc scenario.Scenario, ref reference) []point {
	return append(upTo(len(ref.Versions), atVersion), stepsAndEnd(sc, ref)...)
}

func upTo(n int, p place) (all []point) {
	for k := 1; k <= n; k++ {
		all = append(all, point{p, k})
	}
	return all
}

// crashes are G1: the operator is killed before and after every write of a run.
func crashes(*scenario.Operator) []act {
	return []act{
		{name: "crash before", fault: func(a *Attempt) proxy.Act { return proxy.Before(a.crash) }},
		{name: "crash after", fault: func(a *Attempt) proxy.Act { return proxy.After(a.crash) }},
	}
}

// secondCrashes are G2: a crash at a write, and another one at the j-th write of the recovery.
func secondCrashes(*scenario.Operator) (all []act) {
	for j := 1; j <= 4; j++ {
		again := func(a *Attempt, second proxy.Act) func() {
			return func() {
				at := a.track.Writes() + j
				a.crash()
				a.track.Inject(proxy.Fault{At: at, Act: second})
			}
		}
		all = append(all,
			act{name: fmt.Sprintf("crash before write %d of the recovery from a crash after", j), strikes: 2, fault: func(a *Attempt) proxy.Act {
				return proxy.After(again(a, proxy.Before(a.crash)))
			}},
			act{name: fmt.Sprintf("crash after write %d of the recovery from a crash before", j), strikes: 2, fault: func(a *Attempt) proxy.Act {
				return proxy.Before(again(a, proxy.After(a.crash)))
			}})
	}
	return all
}

// travels are G3: the operator is restarted and sees the cluster as it was at some version of the run, while its writes take
// effect now: at the end of the run as of every version, and before every step as of some share of what there was.
func travels(*scenario.Operator) []act {
	excused := excuse{notice: past + usualNotice}
	all := []act{{name: "restart in the past, at", do: travelToVersion, excuse: excused, adapt: func(c *Case, _ reference) bool { return c.point.place == atVersion }}}
	for _, percent := range []int{10, 40, 70, 90} {
		all = append(all, act{
			name: fmt.Sprintf("restart as of %d %% of what there was, at", percent), do: travelBy(percent), excuse: excused,
			adapt: func(c *Case, _ reference) bool { return c.point.place == beforeStep },
		})
	}
	return all
}

// lags are G4: after a write the operator's watches deliver nothing for a while, break off, or lose events. It must not repeat a
// write whose effect it cannot see. Without bookmarks nothing has updated the position of a watch that breaks off: the operator
// receives again what it knows, or lists again.
func lags(*scenario.Operator) []act {
	return []act{
		lag("all watches held for 3 s after", true, true, 3*time.Second, (*proxy.Streams).Release),
		lag("watches of dependents held for 3 s after", true, false, 3*time.Second, (*proxy.Streams).Release),
		lag("watches of the object held for 3 s after", false, true, 3*time.Second, (*proxy.Streams).Release),
		// This is longer than the operator waits for its caches: it reads from the API server.
		lag("all watches held for 13 s after", true, true, 13*time.Second, (*proxy.Streams).Release),
		lag("events of a second lost after", true, true, time.Second, (*proxy.Streams).Expire),
		lag("watches cut, no bookmarks, after", true, true, 0, (*proxy.Streams).Cut),
		lag("watches expired, no bookmarks, after", true, true, 0, (*proxy.Streams).Expire),
	}
}

// renewal is how long an operator may take to watch again after a watch has broken off.
const renewal = 3 * time.Second

// lag returns an act that holds the watches of dependents, of the object, or both for a time, and then ends that.
func lag(name string, ofDependents, ofObject bool, blind time.Duration, end func(*proxy.Streams, string)) act {
	return act{
		name: name, noBookmarks: blind == 0, check: createsNothingTwice,
		excuse: excuse{writes: int((blind + renewal) / time.Second), notice: blind + renewal},
		fault: func(a *Attempt) proxy.Act {
			streams := a.sandbox.Proxy.Streams()
			var resources []string
			if ofDependents {
				for _, r := range a.Scenario.Operator.Dependents {
					resources = append(resources, r.Resource)
				}
			}
			if ofObject {
				resources = append(resources, a.Scenario.Resource.Resource)
			}
			endAll := func() {
				for _, r := range resources {
					end(streams, r)
				}
			}
			return proxy.Along(func() {
				if blind == 0 {
					endAll()
					return
				}
				for _, r := range resources {
					streams.Hold(r)
				}
				a.later(blind, endAll)
			})
		},
	}
}

const (
	// troubleEnds is when the API server recovers, if fewer than ten requests were made by then: an operator with a good back-off
	// makes fewer.
	troubleEnds = 15 * time.Second
	// afterTrouble is longer than any pause between two retries of an operator that has received errors for troubleEnds.
	afterTrouble = 3 * time.Minute
)

// trouble returns an act that happens to one request, or to some in a row.
func trouble(name string, times int, what proxy.Act) act {
	return act{
		name: fmt.Sprintf("%s, %d times, at", name, times), times: times, liftAfter: troubleEnds,
		fault:  func(*Attempt) proxy.Act { return what },
		excuse: excuse{patience: afterTrouble, writes: 3 * times},
	}
}

// lostAnswers are G5: the API server does what is asked, and the operator does not hear of it.
func lostAnswers(*scenario.Operator) []act {
	return []act{trouble("answer lost after the commit", 1, proxy.Drop)}
}

// refusals are G6: a request is answered with an error, once and ten times in a row.
func refusals(*scenario.Operator) (all []act) {
	for _, times := range []int{1, 10} {
		all = append(all, trouble("connection reset", times, proxy.Reset))
		for _, code := range []int{
			http.StatusConflict, http.StatusInternalServerError, http.StatusGone, http.StatusUnprocessableEntity,
			http.StatusTooManyRequests, http.StatusServiceUnavailable, http.StatusGatewayTimeout,
		} {
			all = append(all, trouble(fmt.Sprint(code), times, proxy.Refuse(code)))
		}
	}
	return all
}

// outages are G13: what a timer triggers is due while the operator is down.
func outages(*scenario.Operator) []act {
	return []act{{name: "operator down for 12 s after", do: beDown}}
}

// disturbances are G14: when a job has ended, another client deletes its dependents and edits its status, and the operator is
// restarted. Nothing is created, and the terminal condition stays.
func disturbances(o *scenario.Operator) (all []act) {
	for _, status := range append(sortedKeys(o.Statuses), "") {
		for _, restarts := range []int{0, 2} {
			all = append(all, act{
				name: fmt.Sprintf("children deleted, %d restarts, status: %q, at", restarts, status), do: disturb(status, restarts), check: staysOver,
				excuse: excuse{edited: true, writes: 30, oracles: []string{"O1", "O2"}},
				adapt:  func(_ *Case, ref reference) bool { return ref.isOver },
			})
		}
	}
	return all
}

// deletions are G18: the job is deleted in each of the three ways, with the operator up, restarted, and down until nothing is left.
func deletions(*scenario.Operator) (all []act) {
	for _, policy := range []metav1.DeletionPropagation{metav1.DeletePropagationForeground, metav1.DeletePropagationBackground, metav1.DeletePropagationOrphan} {
		for _, operator := range []string{"up", "restarted", "down"} {
			all = append(all, act{
				name: fmt.Sprintf("deleted (%s), operator %s, at", policy, operator), do: deleteJob(policy, operator), check: allGone(policy), endsRun: true,
				excuse: excuse{oracles: []string{"O1", "O2"}}, // the run ends otherwise
				adapt: func(c *Case, ref reference) bool {
					if c.point.place == beforeStep && spoilsLater(c.Scenario.Steps[c.point.k:]) {
						c.Scenario.Paths = nil // it is deleted before it is malformed
					}
					return ref.exists // otherwise the scenario deletes it anyway
				},
			})
		}
	}
	return all
}
