package main

import (
	"errors"
	"flag"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"stoic/test/command"
	"stoic/test/operator"
	"stoic/training/convert"
)

// TestMain turns the test's program into the bare client when the tiny run starts it as that.
func TestMain(m *testing.M) {
	if isBareClient() {
		os.Exit(bareClientMain())
	}
	os.Exit(m.Run())
}

func TestParse(t *testing.T) {
	var out strings.Builder
	if _, err := parse([]string{"-h"}, &out); !errors.Is(err, flag.ErrHelp) || !strings.Contains(out.String(), "wide ") {
		t.Errorf("help: %v\n%s", err, out.String())
	}
	for _, wrong := range [][]string{{"-scale", "0"}, {"-scale", "NaN"}, {"more"}, {"-workloads", "jobs,nonsense"}} {
		if _, err := parse(wrong, &out); err == nil {
			t.Errorf("%v is accepted", wrong)
		}
	}
	o, err := parse([]string{"-workloads", "latency,jobs"}, &out)
	if err != nil {
		t.Fatal(err)
	}
	if chosen, err := o.chosen(); err != nil || len(chosen) != 2 || chosen[0].name != "jobs" {
		t.Errorf("chosen: %v, %v", chosen, err)
	}
}

// TestTable: the table compares Stoic with the bare client and with the budgets.
func TestTable(t *testing.T) {
	page, isKept := format([]result{
		{workload: "wide", size: 1000, subject: bareClientName, values: map[string]float64{rate: 100}},
		{workload: "wide", size: 1000, subject: stoicName, values: map[string]float64{rate: 90, cpu: 2.5}},
	})
	if want := "| wide 1000 | creates per second | 100 | 90 | 0.90 |  | 80 |\n"; !strings.Contains(page, want) || !isKept {
		t.Errorf("kept: %v, want %s in\n%s", isKept, want, page)
	}
	if want := "x-axis [\"wide 1000\"]\n    bar [2.50]\n"; !strings.Contains(page, want) {
		t.Errorf("want %s in\n%s", want, page)
	}
	for _, r := range []result{
		{workload: "jobs", size: 200, subject: stoicName, values: map[string]float64{writes: 14}},
		{workload: "jobs", size: 200, subject: otherName, err: errors.New("broken")},
	} {
		if page, isKept := format([]result{r}); isKept {
			t.Errorf("no budget is missed:\n%s", page)
		}
	}
}

// TestShapes: the jobs of the workloads convert without a warning.
func TestShapes(t *testing.T) {
	standard := shape{servers: 1, workers: 4}
	for _, s := range append(ofEachKind(standard), standard, shape{workers: sparseFrom}, shape{workers: 5000, isSparse: true}, shape{kind: mpiV2beta1(), servers: 1, workers: 4}) {
		job := s.job("j")
		job.SetNamespace(measured)
		got := convert.Object(s.kindOf(), job)
		if got.Rejection != nil || len(got.Warnings) > 0 {
			t.Errorf("%s: %+v %+v", s.kindOf().Name, got.Rejection, got.Warnings)
		} else if diff := cmp.Diff(s.servers+s.workers, got.Job.Replicas()); diff != "" {
			t.Errorf("%s: replicas (-want +got):\n%s", s.kindOf().Name, diff)
		}
	}
}

// TestTinyRun: a tiny benchmark counts what it should. Its times have no meaning.
func TestTinyRun(t *testing.T) {
	operator.Full(t)
	r, err := command.Open("bench", "../..", t.TempDir(), os.Stderr)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = r.Close() }()
	results, err := measureAll(t.Context(), options{workloads: "latency", scale: 0.1}, r)
	if err != nil || len(results) != 2 {
		t.Fatalf("%+v, %v", results, err)
	}
	for _, got := range results {
		if got.err != nil || got.size != 3 || got.values[conflicts] != 0 {
			t.Errorf("%+v", got)
		}
		if w := got.values[writes]; w < 11 || w > 16 {
			t.Errorf("%s: %v writes per job", got.subject, w)
		}
		for _, measure := range []string{cpu, peak, createdP50, restart} {
			if got.values[measure] <= 0 {
				t.Errorf("%s: %s is %v", got.subject, measure, got.values[measure])
			}
		}
	}
	if e := results[1].values[events]; e < 1 || e > 5 {
		t.Errorf("%v events per job", e)
	}
}
