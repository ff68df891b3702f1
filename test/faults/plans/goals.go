package plans

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"

	"stoic/test/faults/scenario"
)

// family is how one goal makes plans of a scenario, and how many are tried.
type family struct {
	Goal Goal
	// What describes for readers what is tried.
	What string
	// most is how many plans a full run tries; all, if there are fewer.
	most int
	// sample is how many plans a run of the fixed sample tries.
	sample int
	plans  func(scenario.Scenario, reference, *rand.Rand) []Plan
}

// families returns the families in the order in which they are tried.
func families() []family {
	plain := func(f func(scenario.Scenario, reference) []Plan) func(scenario.Scenario, reference, *rand.Rand) []Plan {
		return func(sc scenario.Scenario, ref reference, _ *rand.Rand) []Plan { return f(sc, ref) }
	}
	return []family{
		{"G1", "crash before and after every write", 10_000, 24, plain(crashes)},
		{"G2", "a second crash while recovering", 150, 4, doubleCrashes},
		{"G3", "restart in the past, at every version", 500, 8, travels},
		{"G4", "own writes not seen for a while, and watches that break off", 500, 8,
			func(sc scenario.Scenario, ref reference, random *rand.Rand) []Plan {
				return append(lags(sc, ref, random), breaks(sc, ref)...)
			}},
		{"G5", "events that are never told", 250, 6, plain(gaps)},
		{"G6", "every error at every request, once and ten times", 500, 8, plain(refused)},
		{"G11", "labels, owners, status and ledger edited by others", 250, 6, plain(tamperings)},
		{"G13", "timers, with the operator up, restarted and down", 40, 2, plain(timers)},
		{"G14", "a finished job stays finished", 60, 2, plain(ends)},
		{"G18", "deletion in three ways at every step, operator up, restarted and down", 150, 4, plain(deletions)},
	}
}

// Malformed objects are a goal without plans of single objects: package malformed tries hundreds at a time.
const Malformed Goal = "G7"

// AllGoals returns, in order, the goals that are tried on a control plane shared by sandboxes; Malformed is the last one.
func AllGoals() (goals []Goal) {
	for _, f := range families() {
		goals = append(goals, f.Goal)
	}
	return append(goals, Malformed)
}

// What describes for readers what a goal tries.
func What(g Goal) string {
	for _, f := range families() {
		if f.Goal == g {
			return f.What
		}
	}
	if g == Malformed {
		return "malformed objects of every kind, stored before the operator starts, while it runs and by updates"
	}
	return "no fault: the references, each run twice"
}

// Selection says which plans are tried.
type Selection struct {
	Seed uint64
	// Goals to try; nil is all.
	Goals []Goal
	// Sample: the fixed small number of plans of each goal.
	Sample bool
	// Share of the usual number of each goal, such as 0.1; 0 is 1.
	Share float64
	// Everything: no sample is drawn.
	Everything bool
}

// Choose makes every plan for which a reference has a point, and draws as many of each goal as are tried. The same seed and the
// same references choose the same plans.
func (s *Stage) Choose(scenarios []scenario.Scenario, sel Selection) (chosen []Plan, possible map[Goal]int) {
	possible = map[Goal]int{}
	for n, o := range operators(scenarios) {
		for i, f := range families() {
			if sel.Goals != nil && !slices.Contains(sel.Goals, f.Goal) || o.Goals != nil && !slices.Contains(o.Goals, string(f.Goal)) {
				continue
			}
			random := seeded(sel.Seed + uint64(i)<<32 + uint64(n)<<48)
			var all []Plan
			for _, sc := range scenarios {
				if ref, ok := s.reference(sc.Name); ok && sc.Operator.Name == o.Name && (!sel.Sample || sc.Sampled()) {
					all = append(all, f.plans(sc, ref, random)...)
				}
			}
			possible[f.Goal] += len(all)
			random.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
			if o.Basics && !sel.Sample && sel.Share == 0 {
				slices.SortStableFunc(all, func(a, b Plan) int { return cmp.Compare(rank(a), rank(b)) })
			}
			chosen = append(chosen, all[:min(f.number(sel, o), len(all))]...)
		}
	}
	return chosen, possible
}

// rank returns the sort key of a plan: basic ones come first.
func rank(p Plan) int {
	if p.basic {
		return 0
	}
	return 1
}

// operators returns the operators of some scenarios, in their order: the plans of one come after those of the other.
func operators(scenarios []scenario.Scenario) (all []*scenario.Operator) {
	for _, sc := range scenarios {
		if !slices.ContainsFunc(all, func(o *scenario.Operator) bool { return o.Name == sc.Operator.Name }) {
			all = append(all, sc.Operator)
		}
	}
	return all
}

// number returns how many plans of an operator are tried.
func (f family) number(sel Selection, o *scenario.Operator) int {
	switch {
	case sel.Everything:
		return math.MaxInt
	case sel.Sample:
		return max(1, f.sample/o.Share)
	case sel.Share > 0:
		return max(1, int(sel.Share*float64(f.most)))
	}
	return f.most
}

func seeded(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, 0)) }
