package plans

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"stoic/test/faults/oracle"
	"stoic/test/faults/scenario"
)

// learned returns a stage with references that were never run: plans are made from numbers alone.
func learned() *Stage {
	s := &Stage{references: map[string]reference{}}
	for _, sc := range scenario.All() {
		s.references[sc.Name] = reference{Reference: oracle.Reference{Versions: []string{"1", "2", "3"}}, writes: 5, requests: 6,
			reported: map[string]int{"pods": 3, "services": 1, sc.Resource.Resource: 2}, state: "Succeeded", settled: true}
	}
	return s
}

// TestChoose: the same seed chooses the same plans, and another seed others; a goal has at most its number of plans; names are unique.
func TestChoose(t *testing.T) {
	s := learned()
	names := func(sel Selection) (all []string) {
		chosen, possible := s.Choose(scenario.All(), sel)
		tried := map[Goal]int{}
		for _, p := range chosen {
			tried[p.Goal]++
			all = append(all, p.Name())
		}
		for _, f := range families() {
			want := 0
			for _, o := range scenario.Operators() {
				if o.Goals != nil && !slices.Contains(o.Goals, string(f.Goal)) {
					continue
				}
				_, possible := s.Choose(o.Scenarios, sel)
				want += min(f.number(sel, o), possible[f.Goal])
			}
			if tried[f.Goal] != want || want == 0 {
				t.Errorf("%s: %d plans, want %d of %d", f.Goal, tried[f.Goal], want, possible[f.Goal])
			}
		}
		return all
	}
	one, again, other := names(Selection{Seed: 1}), names(Selection{Seed: 1}), names(Selection{Seed: 2})
	if !slices.Equal(one, again) {
		t.Error("the same seed tries other plans")
	}
	if slices.Equal(one, other) {
		t.Error("another seed tries the same plans")
	}
	all := names(Selection{Seed: 1, Everything: true})
	once := map[string]bool{}
	for _, name := range all {
		if once[name] {
			t.Errorf("twice: %s", name)
		}
		once[name] = true
	}
	for _, name := range one {
		if !once[name] {
			t.Errorf("a plan that is chosen is not among all: %s", name)
		}
	}
	// The allowed size: a minute or two, with some plans of each operator.
	if sample, most := names(Selection{Sample: true}), 25*len(scenario.Operators()); len(sample) > most || len(sample) < 50 {
		t.Errorf("the sample has %d plans, want at most %d", len(sample), most)
	}
}

// TestEveryPointHasItsPlan: the numbers of plans follow from the numbers of points.
func TestEveryPointHasItsPlan(t *testing.T) {
	sc := scenario.All()[0]
	ref := learned().references[sc.Name]
	found := map[Goal]int{}
	for _, f := range families() {
		found[f.Goal] = len(f.plans(sc, ref, seeded(1)))
	}
	want := map[Goal]int{
		"G1": 2 * 5, "G2": 5 + 4 + 3 + 2 + 1, "G3": 3, "G4": 5 + 2*5,
		"G5":  (3 + 2 + 1) + 1 + (2 + 1), // windows of 3, 1 and 2 events
		"G6":  6 * 9 * 2,
		"G13": 0, // no clock in it
		"G14": 3 * (len(sc.Operator.Statuses) + 1),
		"G18": 3 * 3 * len(sc.Steps),
	}
	want["G11"] = len(slices.DeleteFunc(changes(sc.Operator), func(c change) bool { return c.resource != "" }))
	if !maps.Equal(found, want) {
		t.Errorf("found %v, want %v", found, want)
	}
}

// TestSettledObjects: what others delete from a finished job is not recreated. What an operator restores is recreated, and then
// the end must be that of the reference. An object that still changes by itself has no such end.
func TestSettledObjects(t *testing.T) {
	sc := scenario.All()[0]
	for name, c := range map[string]struct {
		ref   reference
		plans int
		exact bool
	}{
		"changes":  {reference{state: "Running"}, 0, false},
		"finished": {reference{state: "Succeeded", settled: true}, 3 * (len(sc.Operator.Statuses) + 1), false},
		"restored": {reference{state: "Ready", settled: true, restores: true}, 3 * (len(sc.Operator.Statuses) + 1), true},
	} {
		found := ends(sc, c.ref)
		if len(found) != c.plans {
			t.Errorf("%s: %d plans, want %d", name, len(found), c.plans)
		}
		for _, p := range found {
			if exact := p.spared == nil && p.more == nil; exact != c.exact {
				t.Errorf("%s: %s is held to the reference: %v", name, p.Name(), exact)
			}
		}
	}
}

// TestDeletionsOfScenarios: an object that is deleted before it is malformed is not rejected, and what was orphaned before stays.
func TestDeletionsOfScenarios(t *testing.T) {
	for name, want := range map[string]string{
		"crontab-malformed":      "step 1 -, step 2 spec.cronSpec, step 3 spec.cronSpec, step 4 spec.cronSpec, step 5 spec.cronSpec",
		"mydeployment-adopted":   "step 2 -",
		"mydeployment-recreated": "step 1 -, step 2 -",
	} {
		all := scenario.All()
		sc := all[slices.IndexFunc(all, func(sc scenario.Scenario) bool { return sc.Name == name })]
		var found []string
		for _, p := range deletions(sc, reference{state: "Ready"}) {
			step, _, _ := strings.Cut(strings.TrimPrefix(p.Fault, "deleted at "), " (")
			found = append(found, step+" "+strings.Join(append(p.Scenario.Paths, "-")[:1], ""))
		}
		if got := strings.Join(slices.Compact(found), ", "); got != want {
			t.Errorf("%s: found %s, want %s", name, got, want)
		}
	}
}

// TestBasics: an operator with Basics meets the basic errors at every request, whatever the seed.
func TestBasics(t *testing.T) {
	s := learned()
	for _, o := range scenario.Operators() {
		if !o.Basics {
			continue
		}
		chosen, _ := s.Choose(o.Scenarios, Selection{Seed: 3, Goals: []Goal{"G6"}})
		if basic := slices.DeleteFunc(chosen, func(p Plan) bool { return !p.basic }); len(basic) != 3*6*len(o.Scenarios) {
			t.Errorf("%s: %d basic plans for %d scenarios of 6 requests", o.Name, len(basic), len(o.Scenarios))
		}
	}
}

// TestClocks: every scenario that is slow because of a time limit has plans for it, and the names are right.
func TestClocks(t *testing.T) {
	names := map[string]bool{}
	for _, sc := range scenario.All() {
		names[sc.Name] = true
	}
	for name := range clocks() {
		if !names[name] {
			t.Errorf("there is no scenario %q", name)
		}
	}
}

// TestGoalsHaveMeanings: the command's help and its table describe each goal.
func TestGoalsHaveMeanings(t *testing.T) {
	for _, g := range append(AllGoals(), "G0") {
		if What(g) == "" || !strings.HasPrefix(string(g), "G") {
			t.Errorf("%q: %q", g, What(g))
		}
	}
}
