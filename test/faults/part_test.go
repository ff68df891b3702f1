package main

import (
	"fmt"
	"strings"
	"testing"
)

// TestParts: each plan, each malformed object and each goal with its own process is in exactly one part, however many parts there are.
func TestParts(t *testing.T) {
	for _, of := range []int{1, 2, 3, 7} {
		sizes := make([]int, of)
		for i := range 1000 {
			name, found := fmt.Sprint("G1/succeed/crash before write ", i), 0
			for number := 1; number <= of; number++ {
				if (part{number, of}).has(name) {
					found++
					sizes[number-1]++
				}
			}
			if found != 1 {
				t.Fatalf("%s is in %d of %d parts", name, found, of)
			}
		}
		for i, size := range sizes {
			if size < 1000/of/2 || size > 2*1000/of {
				t.Errorf("part %d of %d has %d of 1000 plans", i+1, of, size)
			}
		}
		goals := map[string]int{}
		for number := 1; number <= of; number++ {
			o := parsed(t, "-part", fmt.Sprintf("%d/%d", number, of))
			for _, p := range o.ownProcesses() {
				goals[string(p.goal)]++
			}
			if mine := o.part.has("G7/foos/spec: null"); o.mutation("foos", "spec: null") != mine {
				t.Errorf("a malformed object is chosen in part %s, or is not: %v", &o.part, mine)
			}
		}
		for _, p := range processes(options{}) {
			if goals[string(p.goal)] != 1 {
				t.Errorf("%s is in %d of %d parts", p.goal, goals[string(p.goal)], of)
			}
		}
	}
	var all part
	if !all.has("anything") || all.share(7) != 7 || all.String() != "1/1" {
		t.Errorf("no part is not everything: %v", all)
	}
	if second := (part{2, 4}); second.share(1001) != 251 {
		t.Errorf("a quarter of 1001 is %d", second.share(1001))
	}
	if n := (part{1, 3}).share(malformedOfKind); n < 2*malformedAtOnce {
		t.Errorf("a third, as the nightly workflow runs it, has %d malformed objects of a kind: too few to compare neighbours", n)
	}
}

func TestPartFlag(t *testing.T) {
	for _, good := range []string{"1/1", "4/4", "17/300", "1/4294967296"} {
		o := parsed(t, "-part", good)
		if o.part.String() != good {
			t.Errorf("%s is read as %s", good, &o.part)
		}
		o.ownProcesses() // as many parts as there are numbers divide, too
	}
	for _, wrong := range []string{"", "0/1", "2/1", "1/0", "1", "1/2/3", "1/2 ", "x/y", "-1/2", "+1/2", "1/-2", "1/99999999999999999999"} {
		var out strings.Builder
		if _, err := parse([]string{"-part", wrong}, &out); err == nil || !strings.Contains(out.String(), "such as 2/4") {
			t.Errorf("%q: %v\n%s", wrong, err, out.String())
		}
	}
	if _, err := parse([]string{"-part", "1/2", "-plan", "G1/fail/x"}, &strings.Builder{}); err == nil {
		t.Error("a plan and a part are taken together: the plan may not be in the part")
	}
}

func parsed(t *testing.T, words ...string) options {
	t.Helper()
	o, err := parse(words, &strings.Builder{})
	if err != nil {
		t.Fatal(err)
	}
	return o
}
