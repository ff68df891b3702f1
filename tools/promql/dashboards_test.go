package promql

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var (
	variable    = regexp.MustCompile(`\$[a-z_]+`)
	labelValues = regexp.MustCompile(`^label_values\((\w+), (\w+)\)$`)
	inState     = regexp.MustCompile(`state=~?"([^"]*)"`)
	condition   = regexp.MustCompile("condition `(\\w+)`")
	legend      = regexp.MustCompile(`{{(\w+)}}`)
)

// dashboard has the fields of a dashboard that these tests read.
type dashboard struct {
	Panels []struct {
		Title   string
		Targets []target
	}
	Templating struct {
		List []struct{ Name, Type, Definition string }
	}
}

type target struct{ Expr, LegendFormat string }

// TestDashboardsNameWhatExists: every expression of a panel is valid, the labels in a legend are those of its result, a variable has an
// existing label, and an expression uses only variables of the dashboard.
func TestDashboardsNameWhatExists(t *testing.T) {
	v, _ := vocabulary(t)
	states := statesOf(t)
	files, err := filepath.Glob(filepath.FromSlash("../../deploy/monitoring/dashboards/*.json"))
	if err != nil {
		t.Fatal(err)
	}
	expressions := 0
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var d dashboard
		if err := json.Unmarshal(text, &d); err != nil {
			t.Fatal(err)
		}
		var variables []string
		for _, l := range d.Templating.List {
			variables = append(variables, "$"+l.Name)
			m := labelValues.FindStringSubmatch(l.Definition)
			if l.Type == "query" && (m == nil || !slices.Contains(v[m[1]].Labels, m[2])) {
				t.Errorf("%s: the variable %s is %s", file, l.Name, l.Definition)
			}
		}
		for _, p := range d.Panels {
			for _, q := range p.Targets {
				expressions++
				for _, wrong := range wrongIn(v, q, variables, states) {
					t.Errorf("%s: %q: %s", filepath.Base(file), p.Title, wrong)
				}
			}
		}
	}
	if len(files) != 2 || expressions < 40 {
		t.Errorf("%d expressions in %d dashboards", expressions, len(files))
	}
}

// wrongIn returns what is wrong in a query, one sentence each.
func wrongIn(v Vocabulary, q target, variables, states []string) []string {
	of, wrong := v.Check(variable.ReplaceAllString(q.Expr, ".*"))
	report := func(what, found string, there []string) {
		if !slices.Contains(there, found) {
			wrong = append(wrong, fmt.Sprintf("%s %q, and there are %v", what, found, there))
		}
	}
	for _, used := range variable.FindAllString(q.Expr, -1) {
		report("it uses the variable", used, variables)
	}
	for _, m := range inState.FindAllStringSubmatch(q.Expr, -1) {
		for word := range strings.SplitSeq(m[1], "|") {
			report("it asks for the state", word, states)
		}
	}
	for _, m := range legend.FindAllStringSubmatch(q.LegendFormat, -1) {
		report("it is named by the label", m[1], of)
	}
	return wrong
}

// TestWrongPanelsAreFound: each kind of mistake is found.
func TestWrongPanelsAreFound(t *testing.T) {
	v, _ := vocabulary(t)
	for expression, want := range map[string]string{
		`sum by (state) (training_operator_jobs{job=~"$job", state="Running"})`: "",
		`sum by (state) (training_operator_jobs{job=~"$jobs"})`:                 "variable",
		`sum by (state) (training_operator_jobs{state=~"Running|Runing"})`:      "the state \"Runing\"",
		`sum (training_operator_jobs)`:                                          "label \"state\"",
		`sum by (state) (training_operator_job)`:                                "no metric",
	} {
		got := strings.Join(wrongIn(v, target{expression, "{{state}}"}, []string{"$job"}, statesOf(t)), "; ")
		if (want == "") != (got == "") || !strings.Contains(got, want) {
			t.Errorf("%s: %q, want %q", expression, got, want)
		}
	}
}

// statesOf returns the states of jobs: the types of their conditions, as the reference page lists them, and Unknown.
func statesOf(t *testing.T) []string {
	t.Helper()
	text, err := os.ReadFile(filepath.FromSlash("../../docs/reference/events.md"))
	if err != nil {
		t.Fatal(err)
	}
	states := []string{"Unknown"}
	for _, m := range condition.FindAllStringSubmatch(string(text), -1) {
		states = append(states, m[1])
	}
	if len(states) < 7 {
		t.Fatalf("the page lists %v", states)
	}
	return states
}
