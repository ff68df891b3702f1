package cases

import (
	"maps"
	"slices"
	"testing"

	"stoic/test/faults/oracle"
	"stoic/test/faults/scenario"
)

// learned returns a stage of the training operator with references that were never run: cases are made from numbers.
func learned() *Stage {
	s := &Stage{options: Options{Operator: scenario.Operators()[0]}, references: map[string]reference{}}
	for _, sc := range s.options.Operator.Scenarios {
		s.references[sc.Name] = reference{Reference: oracle.Reference{Versions: []string{"1", "2", "3"}}, writes: 5}
	}
	return s
}

// TestChoose: the same seed chooses the same cases, and another seed others; names are unique; a case is found by its name.
func TestChoose(t *testing.T) {
	s := learned()
	names := func(sel Selection) (all []string) {
		chosen, _ := s.Choose(s.options.Operator.Scenarios, sel)
		for _, c := range chosen {
			all = append(all, c.Name())
		}
		return all
	}
	one := names(Selection{Seed: 1})
	if !slices.Equal(one, names(Selection{Seed: 1})) {
		t.Error("the same seed tries other cases")
	}
	if slices.Equal(one, names(Selection{Seed: 2})) {
		t.Error("another seed tries the same cases")
	}
	once := map[string]bool{}
	for _, name := range names(Selection{Names: nil, Fault: " "}) {
		if once[name] {
			t.Errorf("twice: %s", name)
		}
		once[name] = true
	}
	for _, name := range one {
		if !once[name] {
			t.Errorf("a case that is chosen is not among all: %s", name)
		}
	}
	if found := names(Selection{Names: one[3:5]}); !slices.Equal(found, one[3:5]) && !slices.Equal(found, []string{one[4], one[3]}) {
		t.Errorf("for %q found %q", one[3:5], found)
	}
}

// TestEveryPointHasItsCase: the numbers of cases follow from the numbers of points.
func TestEveryPointHasItsCase(t *testing.T) {
	sc := scenario.Operators()[0].Scenarios[0]
	found := map[Goal]int{}
	for _, f := range families() {
		found[f.goal] = len(f.cases(sc, learned().references[sc.Name]))
	}
	want := map[Goal]int{"G1": 2 * 5, "G3": 3 + 4*(len(sc.Steps)-1), "G4": 7 * 5, "G5": 5, "G6": 8 * 2 * 5}
	if !maps.Equal(found, want) {
		t.Errorf("found %v, want %v", found, want)
	}
}
