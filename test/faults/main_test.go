package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"stoic/test/faults/cases"
	"stoic/test/faults/oracle"
	"stoic/test/faults/scenario"
	"stoic/test/operator"
)

func parsed(t *testing.T, words ...string) options {
	t.Helper()
	o, err := parse(words, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	return o
}

func TestParse(t *testing.T) {
	var out strings.Builder
	if _, err := parse([]string{"-h"}, &out); !errors.Is(err, flag.ErrHelp) {
		t.Errorf("help: %v", err)
	}
	for _, want := range []string{"Usage:", "-operator", "G1 ", "G6 "} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("the help does not say %q:\n%s", want, out.String())
		}
	}
	for _, wrong := range []string{"-seed x", "more", "-sandboxes", "-goals G1,G99", "-scenarios fail,no-such", "-subject nobody", "-operator x -subject foobar,training"} {
		if _, err := parse(strings.Fields(wrong), io.Discard); err == nil {
			t.Errorf("%s is taken", wrong)
		}
	}
	for words, want := range map[string]string{
		"": "[training foobar mpi-v2beta1]", "-subject foobar": "[foobar]", "-operator x": "[training]", "-operator x -subject foobar": "[foobar]",
		"-scenarios foobar-target,fail": "[training foobar]", "-case G1/foobar-target/x": "[foobar]", "-case G1/fail/x -case G3/foobar-target/x": "[training foobar]",
	} {
		var names []string
		o := parsed(t, strings.Fields(words)...)
		for _, operator := range scenario.Operators() {
			if len(o.asked(operator)) > 0 {
				names = append(names, operator.Name)
			}
		}
		if got := fmt.Sprint(names); got != want {
			t.Errorf("%q: the scenarios of %s, want %s", words, got, want)
		}
	}
}

// TestTally: a failure is counted, and reported with its evidence. A case whose fault did not strike does not count as passed, and a
// goal fails if none of its faults struck.
func TestTally(t *testing.T) {
	tally := newTally(t.Logf)
	one := cases.Case{Goal: "G1", Scenario: scenario.Operators()[0].Scenarios[0]}
	two := one
	two.Goal = "G3"
	tally.add([]cases.Result{
		{Case: one, Settled: time.Second},
		{Case: one, Missed: true},
		{Case: one, Violations: []oracle.Violation{{Oracle: "O1", Text: "one pod\ntoo many"}}, Evidence: "failure-001.txt"},
		{Case: two, Missed: true}, {Case: two, Missed: true}, {Case: two, Missed: true}, {Case: two, Missed: true},
	})
	var out strings.Builder
	tally.print(&out)
	for _, want := range []string{"FAILED G1/" + one.Scenario.Name, "O1: one pod\n      too many", "failure-001.txt", "7 cases on real API servers", "2 failures", "FAILED G3: each of 4 cases missed"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("it does not say %q:\n%s", want, out.String())
		}
	}
}

// tryCases runs the command.
func tryCases(t *testing.T, words ...string) (passed bool, text string) {
	t.Helper()
	if testing.Short() {
		t.Skip("it needs a control plane: left out with -short")
	}
	o := parsed(t, append([]string{"-busy", "-root", root, "-dir", t.TempDir()}, words...)...)
	var out strings.Builder
	passed, err := run(t.Context(), o, io.MultiWriter(&out, t.Output()))
	if err != nil {
		t.Fatal(err)
	}
	return passed, out.String()
}

// TestSample tries one case of each kind on the training operator.
func TestSample(t *testing.T) {
	operator.Quick(t)
	t.Parallel()
	words := []string{"-sandboxes", "6"}
	all := []string{
		"G1/succeed/crash before write 4",
		"G1/scale-down/crash after write 5",
		"G1/running-malformed-repaired/crash after write 4",
		"G3/scale-down/restart in the past, at the end, to version 4",
		"G4/succeed/watches of dependents held for 3 s after write 3",
		"G4/scale-down/watches expired after write 4",
		"G5/succeed/answer lost after the commit, 1 times, at write 3",
		"G6/scale-down/409, 1 times, at write 4",
		"G6/running-malformed-repaired/500, 1 times, at write 3",
	}
	for _, name := range all {
		words = append(words, "-case", name)
	}
	if passed, text := tryCases(t, words...); !passed || !strings.Contains(text, fmt.Sprintf("\n%d cases", len(all))) {
		t.Errorf("not passed, or not all of %d cases were tried", len(all))
	}
}

// TestLargerSample tries some cases of each goal, on every operator.
func TestLargerSample(t *testing.T) {
	operator.Full(t)
	t.Parallel()
	passed, text := tryCases(t, "-sandboxes", "16", "-share", "0.04")
	if !passed {
		t.Error("not passed")
	}
	for _, goal := range allGoals() {
		if !strings.Contains(text, "\n"+goal+" ") {
			t.Errorf("the table has no row for %s", goal)
		}
	}
}
