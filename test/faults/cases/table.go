package cases

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"time"

	"stoic/test/faults/proxy"
	"stoic/test/faults/scenario"
)

// Goal is a family of cases, by its number in docs/reliability.md: G1 and so on.
type Goal string

// Case is one run of one object, with one act at one point of it.
type Case struct {
	Goal     Goal
	Scenario scenario.Scenario
	point    point
	act      act
}

// Fault says what strikes and where. It is unique within goal and scenario: "crash before write 7".
func (c Case) Fault() string { return strings.TrimSpace(c.act.name + " " + c.point.String()) }

// Name returns the name by which the case is found again: "G1/succeed/crash before write 7".
func (c Case) Name() string { return fmt.Sprintf("%s/%s/%s", c.Goal, c.Scenario.Name, c.Fault()) }

// point is where in a run an act strikes. k counts from 1.
type point struct {
	place place
	k     int
}

func (p point) String() string { return strings.ReplaceAll(string(p.place), "K", fmt.Sprint(p.k)) }

// place is what a point counts.
type place string

const (
	atWrite    place = "write K"               // of the operator
	beforeStep place = "step K"                // of the user, from 0: the first is not counted
	atVersion  place = "the end, to version K" // of the reference: the operator returns to it at the end of the run
)

func upTo(n int, p place) (all []point) {
	for k := 1; k <= n; k++ {
		all = append(all, point{p, k})
	}
	return all
}

// act is what happens at a point: a fault of a write, or a travel to the past at a step or at the end. Neither: a run without faults.
type act struct {
	name   string
	fault  func(*attempt) proxy.Act
	travel func(ctx context.Context, a *attempt, to int) error
	// times is how many writes in a row a fault strikes; 0 is one.
	times int
	// liftAfter: the fault ends at the latest after this time; 0: at the end of the run.
	liftAfter time.Duration
	// patience is how long the operator has after the last fault; 0 is the usual time.
	patience time.Duration
	// notice is how much longer than usual the operator may not know of a deletion, because the fault hides it.
	notice time.Duration
	// writes are how many more than usual may be made.
	writes int
	// isBlind: the operator does not see its own writes for a while. It must not repeat them.
	isBlind bool
}

// family is a goal with all of its cases.
type family struct {
	goal Goal
	// what describes for readers what is tried.
	what string
	// most is how many cases of an operator a full run tries, or all if there are fewer.
	most  int
	cases func(scenario.Scenario, reference) []Case
}

// families returns the table of all cases, in the order in which they are tried.
func families() []family {
	return []family{
		{"G1", "crash before and after every write", 10_000, atWrites("G1", crashes())},
		{"G3", "restart in the past, at every version", 100, travels},
		{"G4", "own writes not seen for a while; watches that break off, expire, or lose events", 70, atWrites("G4", lags())},
		{"G5", "the answer to a write lost after the commit", 80, atWrites("G5", []act{trouble("answer lost after the commit", 1, proxy.Drop)})},
		{"G6", "every error at every write, once and ten times", 60, atWrites("G6", refusals())},
	}
}

// each returns a case for each act at each point.
func each(g Goal, sc scenario.Scenario, points []point, acts []act) (all []Case) {
	for _, p := range points {
		for _, act := range acts {
			all = append(all, Case{Goal: g, Scenario: sc, point: p, act: act})
		}
	}
	return all
}

func atWrites(g Goal, acts []act) func(scenario.Scenario, reference) []Case {
	return func(sc scenario.Scenario, ref reference) []Case { return each(g, sc, upTo(ref.writes, atWrite), acts) }
}

// crashes: the operator is killed before and after a write.
func crashes() []act {
	return []act{
		{name: "crash before", fault: func(a *attempt) proxy.Act { return proxy.Before(a.crash) }},
		{name: "crash after", fault: func(a *attempt) proxy.Act { return proxy.After(a.crash) }},
	}
}

// travels: the operator is restarted and sees the cluster as it was at some version of the run, while its writes take effect now: at
// the end of the run as of every version, and before every step as of some share of what there was.
func travels(sc scenario.Scenario, ref reference) []Case {
	const notice = past + usualNotice
	toVersion := act{name: "restart in the past, at", notice: notice, travel: func(ctx context.Context, a *attempt, k int) error { return a.travel(ctx, k-1) }}
	all := each("G3", sc, upTo(len(ref.Versions), atVersion), []act{toVersion})
	for _, percent := range []int{10, 40, 70, 90} {
		byShare := act{name: fmt.Sprintf("restart as of %d %% of what there was, at", percent), notice: notice, travel: func(ctx context.Context, a *attempt, _ int) error {
			return a.travel(ctx, percent*len(a.run.Versions())/100)
		}}
		all = append(all, each("G3", sc, upTo(len(sc.Steps)-1, beforeStep), []act{byShare})...)
	}
	return all
}

// lags: after a write the operator's watches deliver nothing for a while, break off, or lose events.
func lags() []act {
	return []act{
		lag("all watches held for 3 s after", true, true, 3*time.Second, (*proxy.Streams).Release),
		lag("watches of dependents held for 3 s after", true, false, 3*time.Second, (*proxy.Streams).Release),
		lag("watches of the object held for 3 s after", false, true, 3*time.Second, (*proxy.Streams).Release),
		// This is longer than the operator waits for its caches: it reads from the API server.
		lag("all watches held for 13 s after", true, true, 13*time.Second, (*proxy.Streams).Release),
		lag("events of a second lost after", true, true, time.Second, (*proxy.Streams).Expire),
		lag("watches cut after", true, true, 0, (*proxy.Streams).Cut),
		lag("watches expired after", true, true, 0, (*proxy.Streams).Expire),
	}
}

// renewal is how long an operator may take to watch again after a watch has broken off.
const renewal = 3 * time.Second

// lag returns an act that holds the watches of dependents, of the object, or both for a time, and then ends that.
func lag(name string, ofDependents, ofObject bool, blind time.Duration, end func(*proxy.Streams, string)) act {
	return act{
		name: name, isBlind: true, writes: int((blind + renewal) / time.Second), notice: blind + renewal,
		fault: func(a *attempt) proxy.Act {
			streams := a.worker.proxy.Streams()
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

// trouble returns an act that happens to one write, or to some in a row.
func trouble(name string, times int, what proxy.Act) act {
	return act{
		name: fmt.Sprintf("%s, %d times, at", name, times), times: times, liftAfter: troubleEnds, patience: afterTrouble, writes: 3 * times,
		fault: func(*attempt) proxy.Act { return what },
	}
}

// refusals: a write is answered with an error, once and ten times in a row.
func refusals() (all []act) {
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

// AllGoals returns, in order, the goals that are tried.
func AllGoals() (goals []Goal) {
	for _, f := range families() {
		goals = append(goals, f.goal)
	}
	return goals
}

// What describes for readers what a goal tries.
func What(g Goal) string {
	for _, f := range families() {
		if f.goal == g {
			return f.what
		}
	}
	return "no fault: the references, each run twice"
}

// Selection says which cases are tried.
type Selection struct {
	Seed uint64
	// Goals to try; nil is all.
	Goals []Goal
	// Share of the usual number of each goal, such as 0.1; 0 is 1.
	Share float64
	// Names are the names of the only cases to try; nil is all.
	Names []string
	// Fault is a text in the faults of the cases to try.
	Fault string
}

// fewest is how many cases of a goal a share has at least: the points of single cases may not occur.
const fewest = 4

// Choose makes every case for which a reference has a point, and draws as many of each goal as are tried; all, if they are selected
// by their names or faults. The same seed and the same references choose the same cases.
func (s *Stage) Choose(scenarios []scenario.Scenario, sel Selection) (chosen []Case, possible map[Goal]int) {
	possible = map[Goal]int{}
	for i, f := range families() {
		if sel.Goals != nil && !slices.Contains(sel.Goals, f.goal) {
			continue
		}
		var all []Case
		for _, sc := range scenarios {
			if ref, isKnown := s.reference(sc.Name); isKnown {
				all = append(all, f.cases(sc, ref)...)
			}
		}
		possible[f.goal] = len(all)
		if sel.Names != nil || sel.Fault != "" {
			chosen = append(chosen, slices.DeleteFunc(all, func(c Case) bool {
				return sel.Names != nil && !slices.Contains(sel.Names, c.Name()) || !strings.Contains(c.Fault(), sel.Fault)
			})...)
			continue
		}
		number := f.most
		if sel.Share > 0 {
			number = max(fewest, int(sel.Share*float64(min(f.most, len(all)))))
		}
		random := rand.New(rand.NewPCG(sel.Seed, uint64(i)))
		random.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
		chosen = append(chosen, all[:min(number, len(all))]...)
	}
	return chosen, possible
}
