package promql

import (
	"encoding/json"
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

// TestDashboardsNameWhatExists: every expression of a panel is right, the labels in a legend are those of its result, a variable
// has a label that exists, and an expression uses no variable that the dashboard does not have.
func TestDashboardsNameWhatExists(t *testing.T) {
	v, _ := vocabulary(t)
	files, err := filepath.Glob(filepath.FromSlash("../../deploy/monitoring/dashboards/*.json"))
	if err != nil {
		t.Fatal(err)
	}
	states := statesOf(t)
	expressions := 0
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var d struct {
			Panels []struct {
				Title   string
				Targets []struct{ Expr, LegendFormat string }
			}
			Templating struct {
				List []struct{ Name, Type, Definition string }
			}
		}
		if err := json.Unmarshal(text, &d); err != nil {
			t.Fatal(err)
		}
		var variables []string
		for _, l := range d.Templating.List {
			variables = append(variables, "$"+l.Name)
			if l.Type != "query" {
				continue
			}
			m := labelValues.FindStringSubmatch(l.Definition)
			if m == nil || !slices.Contains(v[m[1]].Labels, m[2]) {
				t.Errorf("%s: the variable %s is %s", file, l.Name, l.Definition)
			}
		}
		for _, p := range d.Panels {
			for _, q := range p.Targets {
				expressions++
				for _, used := range variable.FindAllString(q.Expr, -1) {
					if !slices.Contains(variables, used) {
						t.Errorf("%s: %q uses %s, and there are %v", file, p.Title, used, variables)
					}
				}
				of, wrong := v.Check(variable.ReplaceAllString(q.Expr, ".*"))
				if len(wrong) > 0 {
					t.Errorf("%s: %q: %s", file, p.Title, strings.Join(wrong, "; "))
				}
				for _, m := range inState.FindAllStringSubmatch(q.Expr, -1) {
					for word := range strings.SplitSeq(m[1], "|") {
						if !slices.Contains(states, word) {
							t.Errorf("%s: %q asks for the state %q, and there are %v", file, p.Title, word, states)
						}
					}
				}
				for _, m := range legend.FindAllStringSubmatch(q.LegendFormat, -1) {
					if !slices.Contains(of, m[1]) {
						t.Errorf("%s: %q is named by %q, and has the labels %v", file, p.Title, m[1], of)
					}
				}
			}
		}
	}
	if len(files) != 2 || expressions < 40 {
		t.Errorf("%d expressions in %d dashboards", expressions, len(files))
	}
}

// statesOf jobs are the types of their conditions, as the reference page lists them, and Unknown.
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
