package promql

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/rulefmt"
	"github.com/prometheus/prometheus/model/timestamp"
	"go.yaml.in/yaml/v3"
)

// Scenarios are a test file of promtool test rules, with the fields that these tests need.
type Scenarios struct {
	RuleFiles []string       `yaml:"rule_files"`
	Interval  model.Duration `yaml:"evaluation_interval"`
	Tests     []Scenario     `yaml:"tests"`
}

// Scenario is a set of series and the expected results.
type Scenario struct {
	Name        string           `yaml:"name"`
	Interval    model.Duration   `yaml:"interval"`
	Series      []SeriesTest     `yaml:"input_series"`
	Alerts      []AlertTest      `yaml:"alert_rule_test"`
	Expressions []ExpressionTest `yaml:"promql_expr_test"`
}

// SeriesTest is a series, in Prometheus' short form.
type SeriesTest struct {
	Series string `yaml:"series"`
	Values string `yaml:"values"`
}

// AlertTest lists the alerts of a name that must fire at a time.
type AlertTest struct {
	At   model.Duration `yaml:"eval_time"`
	Name string         `yaml:"alertname"`
	Want []struct {
		Labels      map[string]string `yaml:"exp_labels"`
		Annotations map[string]string `yaml:"exp_annotations"`
	} `yaml:"exp_alerts"`
}

// ExpressionTest is the expected result of an expression at a time.
type ExpressionTest struct {
	Expression string         `yaml:"expr"`
	At         model.Duration `yaml:"eval_time"`
	Want       []SampleTest   `yaml:"exp_samples"`
}

// SampleTest is an expected sample.
type SampleTest struct {
	Labels string  `yaml:"labels"`
	Value  float64 `yaml:"value"`
}

// ReadScenarios reads a test file, strictly.
func ReadScenarios(file string) (*Scenarios, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("read the scenarios: %w", err)
	}
	s := &Scenarios{}
	decoder := yaml.NewDecoder(bytes.NewReader(text))
	decoder.KnownFields(true)
	if err := decoder.Decode(s); err != nil {
		return nil, fmt.Errorf("read %s: %w", file, err)
	}
	return s, nil
}

// Groups returns the rules that a test file is about.
func (s *Scenarios) Groups(folder string) (all []rulefmt.RuleGroup, err error) {
	for _, file := range s.RuleFiles {
		groups, err := ReadRules(filepath.Join(folder, file))
		if err != nil {
			return nil, err
		}
		all = append(all, groups...)
	}
	return all, nil
}

// load returns the series of a scenario, from the time 0 on.
func (s *Scenario) load() (*Memory, error) {
	m := &Memory{}
	for _, in := range s.Series {
		of, values, err := Parser().ParseSeriesDesc(in.Series + " " + in.Values)
		if err != nil {
			return nil, fmt.Errorf("parse the series %q: %w", in.Series, err)
		}
		for i, v := range values {
			if !v.Omitted {
				m.Append(of, int64(i)*time.Duration(s.Interval).Milliseconds(), v.Value)
			}
		}
	}
	return m, nil
}

// Run evaluates the rules step by step and returns the differences from the scenario, one sentence each.
func (s *Scenario) Run(ctx context.Context, groups []rulefmt.RuleGroup, step time.Duration) (wrong []string, err error) {
	memory, err := s.load()
	if err != nil {
		return nil, err
	}
	last := time.Duration(0)
	for _, a := range s.Alerts {
		last = max(last, time.Duration(a.At))
	}
	for _, x := range s.Expressions {
		last = max(last, time.Duration(x.At))
	}
	evaluation := NewEvaluation(groups, memory)
	for at := time.Duration(0); at <= last; at += step {
		alerts, err := evaluation.Step(ctx, timestamp.Time(at.Milliseconds()))
		if err != nil {
			return nil, fmt.Errorf("at %s: %w", at, err)
		}
		wrong = append(wrong, s.compare(alerts, at, step)...)
	}
	for _, x := range s.Expressions {
		got, err := s.query(ctx, evaluation, x.Expression, time.Duration(x.At))
		if err != nil {
			return nil, err
		}
		want := map[string]float64{}
		for _, w := range x.Want {
			of, err := Parser().ParseMetric(w.Labels)
			if err != nil {
				return nil, fmt.Errorf("parse the labels %q: %w", w.Labels, err)
			}
			want[of.String()] = w.Value
		}
		if d := cmp.Diff(want, got, cmp.Comparer(equal)); d != "" {
			wrong = append(wrong, fmt.Sprintf("at %s: %s (-want +got):\n%s", x.At, x.Expression, d))
		}
	}
	return wrong, nil
}

// equal reports whether numbers are the same except for the last bits of a division.
func equal(a, b float64) bool { return a == b || math.Abs(a-b) <= 1e-9*max(math.Abs(a), math.Abs(b)) }

func (s *Scenario) query(ctx context.Context, e *Evaluation, expression string, at time.Duration) (map[string]float64, error) {
	found, err := e.Query(ctx, expression, timestamp.Time(at.Milliseconds()))
	if err != nil {
		return nil, err
	}
	got := map[string]float64{}
	for _, f := range found {
		got[f.Metric.String()] = f.F
	}
	return got, nil
}

// compare compares the alerts of a step with those that must fire in it.
func (s *Scenario) compare(alerts map[string][]Alert, at, step time.Duration) (wrong []string) {
	for _, a := range s.Alerts {
		if asked := time.Duration(a.At); asked < at || asked >= at+step {
			continue
		}
		type shown struct{ Labels, Annotations map[string]string }
		var want, got []shown
		for _, w := range a.Want {
			of := map[string]string{"alertname": a.Name}
			for name, v := range w.Labels {
				of[name] = v
			}
			want = append(want, shown{of, w.Annotations})
		}
		for _, f := range alerts[a.Name] {
			if f.Firing {
				got = append(got, shown{f.Labels, f.Annotations})
			}
		}
		order := func(x, y shown) int { return labels.Compare(labels.FromMap(x.Labels), labels.FromMap(y.Labels)) }
		slices.SortFunc(want, order)
		slices.SortFunc(got, order)
		if d := cmp.Diff(want, got); d != "" {
			wrong = append(wrong, fmt.Sprintf("at %s: %s (-want +got):\n%s", at, a.Name, d))
		}
	}
	return wrong
}
