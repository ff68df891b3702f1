package report

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// sample returns a run in which some budgets are kept, some are missed, and one workload does not end.
func sample() *Report {
	result := func(workload, subject string, size int, values map[string]float64) Result {
		return Result{Workload: workload, Subject: subject, Size: size, Ran: size, Pods: size, Values: values}
	}
	return &Report{Date: time.Unix(0, 0).UTC(), Scale: 1, Results: []Result{
		result("jobs", Limit, 200, map[string]float64{Writes: 12, CPU: 4}),
		result("jobs", Stoic, 200, map[string]float64{Writes: 13, CPU: 12.5, Conflicts: 0, Peak: 100}),
		result("jobs", Stoic, 1000, map[string]float64{Writes: 13, CPU: 12, Conflicts: 1, Peak: 100}),
		result("wide", Limit, 1000, map[string]float64{Rate: 1000}),
		result("wide", Stoic, 1000, map[string]float64{Rate: 799}),
		result("rejected", Stoic, 0, map[string]float64{RunningP99: 1}),
		result("rejected", Stoic, 1000, map[string]float64{RunningP99: 1.1}),
		result("rejected", Stoic, 10000, map[string]float64{RunningP99: 1.2}),
		{Workload: "death", Subject: Stoic, Size: 2000, Failed: "the end | is far"},
	}}
}

func TestVerdicts(t *testing.T) {
	rows, kept := sample().Rows()
	if kept {
		t.Error("budgets are missed, and the run passes")
	}
	found := map[string]string{}
	for _, row := range rows {
		if row.Verdict != "" {
			found[row.cells([]string{"workload"})[0]+" "+row.Measure] = row.Stoic + " " + row.Budget + ": " + row.Verdict
		}
	}
	for row, want := range map[string]string{
		"jobs 200 " + Writes:           "13 <= 13: kept",
		"jobs 200 " + CPU:              "12.5 <= 12: MISSED",
		"jobs 200 " + Events:           " <= 4: not measured",
		"jobs 1000 " + CPU:             "12 <= 12: kept",
		"jobs 1000 " + Conflicts:       "1 <= 0: MISSED",
		"jobs 1000 " + Peak:            "100 <= 80: MISSED",
		"wide 1000 " + Rate:            "799 >= 0.80 x limit: MISSED",
		"rejected 1000 " + RunningP99:  "1.10 <= 1.10 x smallest: kept",
		"rejected 10000 " + RunningP99: "1.20 <= 1.10 x smallest: MISSED",
		"death 2000 end":               "FAILED : MISSED",
	} {
		if found[row] != want {
			t.Errorf("%s: %q, want %q", row, found[row], want)
		}
	}
	for _, row := range []string{"jobs 200 " + Peak, "rejected 0 " + RunningP99} {
		if found[row] != "" {
			t.Errorf("%s has the verdict %q, and no budget", row, found[row])
		}
	}
}

// TestBudgetsAreShown: each budget's measure is in a table. Otherwise readers would not see whether it is kept.
func TestBudgetsAreShown(t *testing.T) {
	for _, b := range Budgets() {
		shown := strings.Join(shown(b.Workload), "\n")
		if !strings.Contains("\n"+shown+"\n", "\n"+b.Measure+"\n") {
			t.Errorf("%s: %s is in no table", b.Workload, b.Measure)
		}
	}
}

func TestNumbers(t *testing.T) {
	for v, want := range map[float64]string{0: "0", 13: "13", 1234.5: "1234", 12.345: "12.3", 1.2345: "1.23", 0.12345: "0.12", 0.012345: "0.0123", -2.5: "-2.50"} {
		if got := number(v); got != want {
			t.Errorf("%v is %q, want %q", v, got, want)
		}
	}
}

func TestFile(t *testing.T) {
	file := filepath.Join(t.TempDir(), "bench.json")
	r := sample()
	r.Results[0].SetLatency(WaitRunning, []time.Duration{time.Second, 2 * time.Second})
	if err := r.Write(file); err != nil {
		t.Fatal(err)
	}
	again, err := Read(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(r, again); diff != "" {
		t.Error(diff)
	}
	if v := again.Results[0].Values[RunningP99]; v != 2 {
		t.Errorf("p99 of 1 and 2 is %v", v)
	}
}

func TestTables(t *testing.T) {
	r := sample()
	r.Machine.Busy = true
	var out strings.Builder
	if err := r.Print(&out); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(out.String(), "FAILED death 2000, stoic: the end | is far\n") || strings.Contains(out.String(), "other") {
		t.Error(out.String())
	}
	r.Keep(&Report{Date: time.Unix(86400, 0).UTC(), Versions: Versions{Stoic: "old"}, Results: []Result{
		{Workload: "jobs", Subject: Stoic, Size: 1000, Values: map[string]float64{Writes: 4711}},
		{Workload: "jobs", Subject: Limit, Size: 1000, Values: map[string]float64{Writes: 4711}},
		{Workload: "growth", Subject: Stoic, Size: 200, Values: map[string]float64{Writes: 5}},
		{Workload: "stored", Subject: Stoic, Size: 10000, Measured: "before", Values: map[string]float64{Memory: 5}}}})
	begin := pageBegin("f/bench.json", "f", "page.md")
	page, err := r.OnPage("a\n"+begin+"old"+pageEnd+"\nb\n", begin)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"a\n<!--", "\nb\n", "### jobs 1000\n", "| 13 |", "was busy", "### growth 200\n\nTook: stoic 0 s. Measured on 1970-01-02 with Stoic old.\n", " Measured before.\n"} {
		if !strings.Contains(page, want) {
			t.Errorf("the page has no %q:\n%s", want, page)
		}
	}
	if strings.Contains(page, "4711") {
		t.Errorf("what was measured now is mixed with what was before:\n%s", page)
	}
	if _, err := r.OnPage("no markers", begin); err == nil {
		t.Error("a page without markers is taken")
	}
	r.Results = append(r.Results, Result{Workload: "jobs", Subject: Other, Size: 200, Values: map[string]float64{Writes: 16.6}})
	out.Reset()
	if err := r.Print(&out); err != nil || !strings.Contains(out.String(), "16.6") {
		t.Errorf("the other operator is not shown: %v\n%s", err, out.String())
	}
}

func TestCharts(t *testing.T) {
	var names []string
	for _, f := range sample().Charts() {
		names = append(names, f.Name)
	}
	if diff := cmp.Diff([]string{"rss-over-pods.svg", "rejected.svg"}, names); diff != "" {
		t.Error(diff)
	}
}
