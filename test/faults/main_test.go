package main

import (
	"errors"
	"flag"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"stoic/test/faults/oracle"
	"stoic/test/faults/plans"
	"stoic/test/faults/scenario"
)

func controlPlaneGoals() string {
	var names []string
	for _, g := range plans.AllGoals() {
		names = append(names, string(g))
	}
	return strings.Join(names, ",")
}

func TestParse(t *testing.T) {
	var out strings.Builder
	if _, err := parse([]string{"-h"}, &out); !errors.Is(err, flag.ErrHelp) {
		t.Errorf("help: %v", err)
	}
	for _, want := range []string{"Usage:", "-operator", "G1 ", "G9 ", "G18 "} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("the help does not say %q:\n%s", want, out.String())
		}
	}
	for _, wrong := range [][]string{{"-seed", "x"}, {"more"}, {"-sandboxes"}, {"-goals", "G1,G99"}, {"-goals", "1"}, {"-scenarios", "fail,no-such"}} {
		var text strings.Builder
		if _, err := parse(wrong, &text); err == nil || wrong[0] == "-goals" && !strings.Contains(text.String(), "G18") || wrong[0] == "-scenarios" && !strings.Contains(text.String(), "foobar-target") {
			t.Errorf("%v is taken, or what is known is not in it: %v\n%s", wrong, err, text.String())
		}
	}
	o, err := parse([]string{"-goals", "g1, G9", "-plan", "G1/fail/crash before write 2"}, &out)
	if err != nil || !o.wants("G1") || !o.wants("G9") || o.wants("G3") {
		t.Errorf("goals: %+v, %v", o, err)
	}
	if found := asked(o); len(found) != 1 || found[0].Name != "fail" {
		t.Errorf("scenarios of one plan: %d", len(found))
	}
}

// TestSubjects: the command tries the scenarios of all operators, of one, or of the operator whose command line is given.
func TestSubjects(t *testing.T) {
	found := func(words ...string) (names []string) {
		o, err := parse(words, &strings.Builder{})
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range asked(o) {
			if !slices.Contains(names, s.Operator.Name) {
				names = append(names, s.Operator.Name)
			}
		}
		return names
	}
	for words, want := range map[string]string{"": "[training foobar crontab mydeployment mpi mpi-v2beta1 training-converted foobarset foobarset-apart foo]", "-subject mpi-v2beta1": "[mpi-v2beta1]", "-subject foobar": "[foobar]", "-subject foobar,training": "[training foobar]",
		"-operator x": "[training]", "-operator x -subject foobar": "[foobar]", "-scenarios foobar-target,fail": "[training foobar]",
		"-plan G1/foobar-target/x": "[foobar]"} {
		if got := fmt.Sprint(found(strings.Fields(words)...)); got != want {
			t.Errorf("%q: the scenarios of %s, want %s", words, got, want)
		}
	}
	for _, wrong := range []string{"-subject nobody", "-operator x -subject foobar,training"} {
		if _, err := parse(strings.Fields(wrong), &strings.Builder{}); err == nil {
			t.Errorf("%s is taken", wrong)
		}
	}
}

// TestMalformedIsAsked: naming scenarios or another goal does not select malformed objects; a plan name finds the operator of its kind.
func TestMalformedIsAsked(t *testing.T) {
	for words, want := range map[string][2]bool{ // whether they are tried, and nothing else
		"": {true, false}, "-goals G7": {true, true}, "-goals G7,G8": {true, true}, "-goals G1": {false, false}, "-goals G1,G7": {true, false}, "-scenarios fail": {false, false},
		"-scenarios fail -goals G7": {true, true}, "-plan G7/foobars/x:7": {true, true}, "-plan G1/fail/x": {false, false}, "-sample": {true, false},
	} {
		o, err := parse(strings.Fields(words), &strings.Builder{})
		if err != nil {
			t.Fatal(err)
		}
		if got := [2]bool{o.wantsMalformed(), o.onlyMalformed()}; got != want {
			t.Errorf("%q: %v, want %v", words, got, want)
		}
	}
	for plan, want := range map[string]string{"G7/foobars/spec: null": "foobar", "G7/mpijobs.v2beta1/spec: null": "mpi-v2beta1", "G7/mpijobs/spec: null": "mpi", "G7/nobodies/spec: null": ""} {
		o, err := parse([]string{"-plan", plan}, &strings.Builder{})
		if err != nil {
			t.Fatal(err)
		}
		names := map[string]bool{}
		for _, s := range asked(o) {
			names[s.Operator.Name] = true
		}
		if got := strings.Join(slices.Sorted(maps.Keys(names)), " "); got != want {
			t.Errorf("%s is of %q, want %q", plan, got, want)
		}
		kind, _, _ := strings.Cut(strings.TrimPrefix(plan, "G7/"), "/")
		if !o.mutation(kind, "spec: null") || o.mutation(kind, "spec: true") || o.mutation("others", "spec: null") {
			t.Errorf("%s does not choose itself alone", plan)
		}
	}
}

// TestOneOfG10: the flags that a divergence prints for repeating it reach the test that compares.
func TestOneOfG10(t *testing.T) {
	for flags, want := range map[string][]string{
		"":                         {"-only=-1", "-family=-1"},
		"-sequence 917":            {"-only=917", "-family=-1"},
		"-seed 77 -family 123":     {"-only=-1", "-family=123", "-seed=77"},
		"-sample -sequences 2000":  {"-only=-1", "-family=-1", "-sequences=100"},
		"-sequences 7 -sequence 9": {"-only=9", "-sequences=7"},
	} {
		o, err := parse(strings.Fields(flags), &strings.Builder{})
		if err != nil {
			t.Fatal(err)
		}
		all := processes(o)
		i := slices.IndexFunc(all, func(p process) bool { return p.goal == "G10" })
		for _, word := range want {
			if !slices.Contains(all[i].words, word) {
				t.Errorf("with %q the test is started as %q, without %s", flags, all[i].words, word)
			}
		}
	}
}

// TestWholeRun: make faults tries everything of which make test tries only a sample.
func TestWholeRun(t *testing.T) {
	o, err := parse(nil, &strings.Builder{})
	if err != nil {
		t.Fatal(err)
	}
	var started []string
	for _, p := range processes(o) {
		if !o.wants(p.goal) {
			t.Errorf("%s is left out", p.goal)
		}
		started = append(started, strings.Join(p.words, " "))
	}
	for test, flag := range map[string]string{"TestEachBugIsCaught": " -all", "TestPlans": " -all", "TestEveryScenarioTwice": "", "TestSchedules": " -schedules=100000", "TestModelAndAPIServer": " -sequences=2000"} {
		if !slices.ContainsFunc(started, func(words string) bool {
			return strings.Contains(words, " -run="+test+" ") && strings.Contains(words+" ", flag+" ")
		}) {
			t.Errorf("%s%s is not started by any of\n%s", test, flag, strings.Join(started, "\n"))
		}
	}
}

// TestPlanes: an operator marked as apart has a control plane of its own, and the others share one.
func TestPlanes(t *testing.T) {
	var found []string
	for _, together := range planes(scenario.All()) {
		names := map[string]bool{}
		for _, s := range together {
			names[s.Operator.Name] = true
		}
		found = append(found, fmt.Sprint(slices.Sorted(maps.Keys(names))))
	}
	if want := []string{"[crontab foo foobar foobarset foobarset-apart mpi mydeployment training]", "[mpi-v2beta1]", "[training-converted]"}; !slices.Equal(found, want) {
		t.Errorf("control planes of %v, want %v", found, want)
	}
}

// TestTally: a failure is counted, reported with its evidence, and makes the run fail. A plan whose fault did not strike does not
// count as passed, and a goal fails if none of its faults struck.
func TestTally(t *testing.T) {
	sc := scenario.All()[0]
	tally := &tally{began: time.Now()}
	plan := func(fault string) plans.Plan { return plans.Plan{Goal: "G1", Scenario: sc, Fault: fault} }
	tally.add("G1", 10, []plans.Result{
		{Plan: plan("good"), Settled: time.Second},
		{Plan: plan("missed"), Missed: true},
		{Plan: plan("bad"), Violations: []oracle.Violation{{Oracle: "O1", Text: "one pod\ntoo many"}}, Evidence: "failure-001.txt"},
	}, time.Minute)
	tally.add("G2", 1, []plans.Result{{Plan: plan("missed"), Missed: true}, {Plan: plan("missed, too"), Missed: true}}, time.Minute)
	tally.rows = append(tally.rows, row{goal: "G0"})
	tally.missed()
	var out strings.Builder
	tally.print(&out)
	text := out.String()
	for _, want := range []string{"FAILED G1/" + sc.Name + "/bad", "O1: one pod\n      too many", "failure-001.txt", "2 plans on real API servers", "2 failures",
		"FAILED G2: each of 2 plans missed"} {
		if !strings.Contains(text, want) {
			t.Errorf("it does not say %q:\n%s", want, text)
		}
	}
	if strings.Index(text, "\nG0 ") > strings.Index(text, "\nG1 ") {
		t.Errorf("goals out of order:\n%s", text)
	}
	if r := tally.rows[1]; r.goal != "G1" || r.tried != 3 || r.missed != 1 || r.failed != 1 || tally.failures != 2 {
		t.Errorf("%+v", r)
	}
}

// TestNothing: a run that tried nothing does not pass, unless it only lists plans or is one of several parts.
func TestNothing(t *testing.T) {
	for words, c := range map[string]struct {
		tried int
		want  string
	}{
		"-goals G1":                                      {1, ""},
		"-goals G1 -scenarios fail":                      {0, "nothing was tried"},
		"-goals G1 -list":                                {0, ""},
		"-goals G1 -part 1/1":                            {0, "nothing was tried"},
		"-goals G1 -part 1/2":                            {0, ""},
		"-goals G1 -fault write -part 1/2":               {0, ""},
		"-goals G1 -fault writ3":                         {0, `no plan has -fault "writ3" in its fault; some that there are: ["crash before write 7"]`},
		"-goals G1 -fault writ3 -part 1/2":               {0, "no plan has"},
		"-goals G1 -fault writ3 -list":                   {0, "no plan has"},
		"-goals G9":                                      {0, "nothing was tried"},
		"-goals G9 -part 1/3":                            {0, ""},
		"-goals G9 -subject foobar":                      {0, "there is no such plan"},
		"-goals G1 -subject foobar -scenarios fail,fail": {0, "there is no such plan"},
	} {
		o := parsed(t, strings.Fields(words)...)
		tally := &tally{rows: []row{{goal: "G0", tried: 7}, {goal: "G1", tried: c.tried}}}
		if len(asked(o)) > 0 && o.wants("G1") {
			tally.meets(o, plans.Plan{Goal: "G1", Fault: "crash before write 7"})
		}
		if err := tally.nothing(o); (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", words, err, c.want)
		}
	}
}

// TestProcess: go test passes even if no test has the given name; such a process must fail.
func TestProcess(t *testing.T) {
	for command, want := range map[string]int{"echo bugs 2, each caught": 0, "echo ok, no tests to run": 1, "echo bugs 0": 1, "false": 1} {
		tally := &tally{}
		tally.process(t.Context(), process{goal: "G8", words: strings.Fields(command), summary: "bugs"}, options{dir: t.TempDir(), root: "."}, t.Logf)
		if tally.failures != want || len(tally.rows) != 1 || tally.rows[0].failed != want {
			t.Errorf("%s: %d failures, %+v", command, tally.failures, tally.rows)
		}
	}
}

// TestCanaries: the run fails if healthy jobs are much slower beside faults; some noise is tolerated.
func TestCanaries(t *testing.T) {
	times := func(n int, d time.Duration) []time.Duration { return slices.Repeat([]time.Duration{d}, n) }
	for name, c := range map[string]struct {
		faulted, reference []time.Duration
		want               int
	}{
		"as fast":       {times(20, time.Second), times(20, time.Second), 0},
		"noise":         {times(20, 1390*time.Millisecond), times(20, time.Second), 0},
		"slower":        {times(20, 1500*time.Millisecond), times(20, time.Second), 1},
		"too few":       {times(20, 9*time.Second), times(3, time.Second), 0},
		"none at all":   {nil, nil, 0},
		"none that ran": {nil, times(20, time.Second), 0},
	} {
		tally := &tally{faulted: c.faulted, reference: c.reference}
		if tally.canaries(&strings.Builder{}); tally.failures != c.want {
			t.Errorf("%s: %d failures", name, tally.failures)
		}
	}
}

// TestSummaries: the line in which a test reports what it tried is found anywhere in the output.
func TestSummaries(t *testing.T) {
	var log strings.Builder
	var reported []string
	s := &summaries{out: &log, mark: "schedules", say: func(line string) { reported = append(reported, line) }}
	for _, part := range []string{"=== RUN\n    x_test.go:3: sched", "ules 300, steps 7\nno schedules here\n", "ok\n"} {
		if _, err := s.Write([]byte(part)); err != nil {
			t.Fatal(err)
		}
	}
	if s.number != 300 || s.last != "schedules 300, steps 7" || len(reported) != 1 || !strings.HasSuffix(log.String(), "ok\n") {
		t.Errorf("%d %q %v", s.number, s.last, reported)
	}
}

// TestBatches: goals run one after another; the plans of a sample run all in parallel, except those that measure times.
func TestBatches(t *testing.T) {
	chosen := []plans.Plan{{Goal: "G1"}, {Goal: "G2"}, {Goal: "G1"}}
	count := func(all []batch) (found []string) {
		for _, b := range all {
			found = append(found, fmt.Sprint(b.name, " ", len(b.plans)))
		}
		return found
	}
	if got := count(batches(chosen, false)); !slices.Equal(got, []string{"G1 2", "G2 1"}) {
		t.Errorf("one by one: %v", got)
	}
	if got := count(batches(chosen, true)); !slices.Equal(got, []string{"sample 3"}) {
		t.Errorf("a sample: %v", got)
	}
}
