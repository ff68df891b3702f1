package promql

import (
	"context"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

const (
	rulesFile = "../../deploy/monitoring/rules.yaml"
	scenarios = "testdata/alerts"
)

// TestAlerts: for each alert there is a file named after it. The alert fires and does not fire as the file says.
func TestAlerts(t *testing.T) {
	groups, err := ReadRules(filepath.FromSlash(rulesFile))
	if err != nil {
		t.Fatal(err)
	}
	alerts, recordings := 0, 0
	for _, g := range groups {
		for _, r := range g.Rules {
			if r.Record != "" {
				recordings++
				continue
			}
			alerts++
			t.Run(r.Alert, func(t *testing.T) { runAlert(t, r.Alert) })
		}
	}
	files, err := filepath.Glob(filepath.Join(scenarios, "*.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	if len(files) != alerts || alerts < 20 || recordings < 15 {
		t.Errorf("%d files of scenarios, %d alerts, %d recordings", len(files), alerts, recordings)
	}
}

func runAlert(t *testing.T, alert string) {
	all, err := ReadScenarios(filepath.Join(scenarios, alert+".yaml"))
	if err != nil {
		t.Fatal(err)
	}
	groups, err := all.Groups(scenarios)
	if err != nil {
		t.Fatal(err)
	}
	fires, quiet := 0, 0
	for _, s := range all.Tests {
		wrong, err := s.Run(t.Context(), groups, time.Duration(all.Interval))
		if err != nil {
			t.Fatalf("%s: %v", s.Name, err)
		}
		for _, w := range wrong {
			t.Errorf("%s: %s", s.Name, w)
		}
		fired := slices.ContainsFunc(s.Alerts, func(a AlertTest) bool { return a.Name == alert && len(a.Want) > 0 })
		if slices.ContainsFunc(s.Alerts, func(a AlertTest) bool { return a.Name != alert }) || len(s.Alerts) == 0 {
			t.Errorf("%s: it asks for nothing, or for another alert", s.Name)
		}
		if fired {
			fires++
		} else {
			quiet++
		}
	}
	if fires == 0 || quiet == 0 {
		t.Errorf("it fires in %d scenarios and stays quiet in %d; want both", fires, quiet)
	}
}

// TestRecordings: counts of jobs include the first event of a namespace, exclude what happened before, and continue when another process
// takes over. Metrics of other operators under the same names are left out.
func TestRecordings(t *testing.T) {
	const file = "testdata/recordings.yaml"
	all, err := ReadScenarios(file)
	if err != nil {
		t.Fatal(err)
	}
	groups, err := all.Groups("testdata")
	if err != nil {
		t.Fatal(err)
	}
	asked := map[string]bool{}
	for _, s := range all.Tests {
		wrong, err := s.Run(t.Context(), groups, time.Duration(all.Interval))
		if err != nil {
			t.Fatalf("%s: %v", s.Name, err)
		}
		for _, w := range wrong {
			t.Errorf("%s: %s", s.Name, w)
		}
		for _, x := range s.Expressions {
			if len(x.Want) > 0 {
				asked[x.Expression] = true
			}
		}
	}
	for _, g := range groups {
		for _, r := range g.Rules {
			if r.Record != "" && !asked[r.Record] {
				t.Errorf("no scenario asks for %s", r.Record)
			}
		}
	}
}

// TestScenariosNotice: a scenario that differs from the rules is reported: another label, another text, an alert that does not fire, one
// that does, and another number.
func TestScenariosNotice(t *testing.T) {
	groups, err := ReadRules(filepath.FromSlash(rulesFile))
	if err != nil {
		t.Fatal(err)
	}
	for what, change := range map[string]func(*Scenario){
		"nothing": func(*Scenario) {},
		"label":   func(s *Scenario) { s.Alerts[1].Want[0].Labels["severity"] = "info" },
		"text":    func(s *Scenario) { s.Alerts[1].Want[0].Annotations["summary"] += " Or not." },
		"fires":   func(s *Scenario) { s.Alerts[1].Want = nil },
		"quiet":   func(s *Scenario) { s.Alerts[0].Want = s.Alerts[1].Want },
		"number": func(s *Scenario) {
			s.Expressions = []ExpressionTest{{Expression: "vector(1)", Want: []SampleTest{{"{}", 2}}}}
		},
	} {
		all, err := ReadScenarios(filepath.Join(scenarios, "TrainingOperatorNoLeader.yaml"))
		if err != nil {
			t.Fatal(err)
		}
		s := all.Tests[0]
		change(&s)
		wrong, err := s.Run(context.Background(), groups, time.Minute)
		if err != nil {
			t.Fatal(err)
		}
		if (len(wrong) == 0) != (what == "nothing") {
			t.Errorf("%s: %s", what, strings.Join(wrong, "\n"))
		}
	}
}
