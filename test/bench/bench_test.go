package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"stoic/test/command"
	"stoic/test/operator"
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
	for _, wrong := range [][]string{{"more"}, {"-workloads", "jobs:200,nonsense:1"}, {"-workloads", "jobs"}, {"-workloads", "jobs:-1"}} {
		if _, err := parse(wrong, &out); err == nil {
			t.Errorf("%v is accepted", wrong)
		}
	}
	o, err := parse([]string{"-workloads", "wide:3,jobs:20"}, &out)
	if err != nil || len(o.chosen) != 2 || o.chosen[1].workload.name != "jobs" || o.chosen[1].size != 20 {
		t.Errorf("chosen: %+v, %v", o.chosen, err)
	}
	if o, err := parse(nil, &out); err != nil || len(o.chosen) != 5 {
		t.Errorf("everything: %+v, %v", o.chosen, err)
	}
}

// TestTable: the table compares Stoic with the bare client and with the budgets.
func TestTable(t *testing.T) {
	page, isKept := format([]result{
		{workload: "jobs", size: 200, subject: bareClientName, values: map[string]float64{cpu: 5}},
		{workload: "jobs", size: 200, subject: stoicName, values: map[string]float64{cpu: 7.5}},
		{workload: "wide", size: 1000, subject: bareClientName, values: map[string]float64{rate: 100}},
		{workload: "wide", size: 1000, subject: stoicName, values: map[string]float64{rate: 90}},
	})
	if !isKept {
		t.Error("a budget is missed")
	}
	for _, want := range []string{
		"| jobs 200 | CPU per job, ms | 5 | 7.50 | 1.50 |  | 12 |\n",
		"| wide 1000 | creates per second | 100 | 90 | 0.90 |  | 80 |\n",
		"x-axis [\"bare client 200\", \"Stoic 200\"]\n    bar [5, 7.50]\n",
	} {
		if !strings.Contains(page, want) {
			t.Errorf("want %s in\n%s", want, page)
		}
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

// TestAudit: what a log in growth says is counted once, by user, and a line that is not complete yet later.
func TestAudit(t *testing.T) {
	line := func(user, stage, verb, resource, name, code, from, to string) string {
		return fmt.Sprintf(`{"stage":%q,"verb":%q,"user":{"username":%q},"objectRef":{"resource":%q,"namespace":"measured","name":%q},"responseStatus":{"code":%s},`+
			`"requestReceivedTimestamp":"2026-01-01T00:00:%s.000000Z","stageTimestamp":"2026-01-01T00:00:%s.000000Z"}`+"\n", stage, verb, user, resource, name, code, from, to)
	}
	path := filepath.Join(t.TempDir(), "audit.log")
	log, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	a, err := openAudit(path)
	if err != nil {
		t.Fatal(err)
	}
	defer a.file.Close()
	const done = "ResponseComplete"
	text := line("admin", done, "create", "tfjobs", "my-job", "201", "00", "01") +
		line("me", done, "create", "pods", "my-job-worker-0", "201", "01", "02") +
		line("me", done, "create", "services", "my-job-worker-0", "201", "02", "05") +
		line("me", done, "create", "pods", "my-job-worker-0", "409", "09", "09") +
		line("me", done, "patch", "tfjobs", "my-job", "200", "03", "03") +
		line("me", done, "get", "pods", "x", "404", "03", "03") +
		line("me", done, "list", "pods", "", "200", "03", "03") +
		line("me", done, "update", "leases", "x", "409", "03", "03") +
		line("me", "ResponseStarted", "watch", "pods", "", "200", "03", "03") +
		line("me", done, "watch", "pods", "", "200", "03", "03") +
		line("me", done, "get", "", "", "200", "03", "03") +
		line("me", done, "create", "events", "x", "201", "03", "03")
	var found []request
	for _, part := range []string{text[:700], text[700:701], text[701:]} {
		if _, err := log.WriteString(part); err != nil {
			t.Fatal(err)
		}
		more, err := a.read()
		if err != nil {
			t.Fatal(err)
		}
		found = append(found, more...)
	}
	if len(found) != 9 {
		t.Errorf("%d requests", len(found))
	}
	want := map[string]float64{writes: 2, events: 0.5, conflicts: 1, gets: 1, rate: 0.5, createdP50: 2, createdP99: 2}
	if diff := cmp.Diff(want, count(found, "me", 2)); diff != "" {
		t.Error(diff)
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
	o, err := parse([]string{"-workloads", "jobs:3"}, os.Stderr)
	if err != nil {
		t.Fatal(err)
	}
	results, err := measureAll(t.Context(), o, r)
	if err != nil || len(results) != 2 {
		t.Fatalf("%+v, %v", results, err)
	}
	for _, got := range results {
		if got.err != nil || got.values[conflicts] != 0 || got.values[unseen] != 0 {
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
