package promql

import (
	"context"
	"fmt"
	"maps"
	"math"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/rulefmt"
	"github.com/prometheus/prometheus/model/timestamp"
	"github.com/prometheus/prometheus/model/value"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/template"
	"github.com/prometheus/prometheus/tsdb/chunkenc"
	"github.com/prometheus/prometheus/tsdb/chunks"
	"go.yaml.in/yaml/v3"
)

// scenario is one test of a file for promtool test rules.
type scenario struct {
	Name     string
	Interval model.Duration
	Series   []struct{ Series, Values string } `yaml:"input_series"`
	Alerts   []struct {
		At   model.Duration `yaml:"eval_time"`
		Name string         `yaml:"alertname"`
		Want []alert        `yaml:"exp_alerts"`
	} `yaml:"alert_rule_test"`
	Queries []struct {
		At         model.Duration `yaml:"eval_time"`
		Expression string         `yaml:"expr"`
		Want       []struct {
			Labels string
			Value  float64
		} `yaml:"exp_samples"`
	} `yaml:"promql_expr_test"`
}

type alert struct {
	Labels      map[string]string `yaml:"exp_labels"`
	Annotations map[string]string `yaml:"exp_annotations"`
}

// sample is a number at a time.
type sample struct {
	chunks.Sample
	milliseconds int64
	number       float64
}

func (s sample) T() int64                 { return s.milliseconds }
func (s sample) ST() int64                { return 0 }
func (s sample) F() float64               { return s.number }
func (s sample) Type() chunkenc.ValueType { return chunkenc.ValFloat }

// series are samples in memory, by their labels, which a query reads.
type series map[string]*samples

type samples struct {
	labels labels.Labels
	all    []chunks.Sample
}

func (s series) add(of labels.Labels, at time.Time, number float64) {
	key := of.String()
	if s[key] == nil {
		s[key] = &samples{labels: of}
	}
	s[key].all = append(s[key].all, sample{milliseconds: timestamp.FromTime(at), number: number})
}

// found is what matches a selector.
type found struct {
	storage.SeriesSet
	all []storage.Series
	at  int
}

func (f *found) Next() bool         { f.at++; return f.at <= len(f.all) }
func (f *found) At() storage.Series { return f.all[f.at-1] }

func (s series) Select(_ bool, _ *storage.SelectHints, matchers ...*labels.Matcher) storage.SeriesSet {
	result := &found{SeriesSet: storage.EmptySeriesSet()}
	for _, key := range slices.Sorted(maps.Keys(s)) {
		if !slices.ContainsFunc(matchers, func(m *labels.Matcher) bool { return !m.Matches(s[key].labels.Get(m.Name)) }) {
			result.all = append(result.all, storage.NewListSeries(s[key].labels, s[key].all))
		}
	}
	return result
}

var engine = promql.NewEngine(promql.EngineOpts{MaxSamples: 1_000_000, Timeout: time.Minute, LookbackDelta: 5 * time.Minute, Parser: expressions})

func (s series) query(ctx context.Context, expression string, at time.Time) (promql.Vector, error) {
	query, err := engine.NewInstantQuery(ctx, &storage.MockQueryable{MockQuerier: &storage.MockQuerier{SelectMockFunction: s.Select}}, nil, expression, at)
	if err != nil {
		return nil, err
	}
	defer query.Close()
	vector, err := query.Exec(ctx).Vector()
	return slices.Clone(vector), err
}

// evaluation evaluates rules step by step, as Prometheus does.
type evaluation struct {
	rules    []rulefmt.Rule
	series   series
	active   map[string]time.Time     // since when an alert has been active
	recorded map[string]labels.Labels // the series that rules recorded in the former step
}

// step evaluates all rules at a time, records series, and returns the alerts that fire.
func (e *evaluation) step(t *testing.T, at time.Time) map[string][]alert {
	t.Helper()
	firing := map[string][]alert{}
	active := map[string]time.Time{}
	recorded := map[string]labels.Labels{}
	for _, rule := range e.rules {
		vector, err := e.series.query(t.Context(), rule.Expr, at)
		if err != nil {
			t.Fatalf("%s%s at %s: %v", rule.Alert, rule.Record, at, err)
		}
		for _, result := range vector {
			if rule.Record != "" {
				of := labels.NewBuilder(result.Metric).Set(labels.MetricName, rule.Record).Labels()
				recorded[of.String()] = of
				e.series.add(of, at, result.F)
				continue
			}
			a := e.alert(t, rule, result, at)
			key := fmt.Sprint(rule.Alert, a.Labels)
			active[key] = at
			if since, known := e.active[key]; known {
				active[key] = since
			}
			if at.Sub(active[key]) >= time.Duration(rule.For) {
				firing[rule.Alert] = append(firing[rule.Alert], a)
			}
		}
	}
	for key, of := range e.recorded {
		if _, continues := recorded[key]; !continues {
			e.series.add(of, at, math.Float64frombits(value.StaleNaN))
		}
	}
	e.active = active
	e.recorded = recorded
	return firing
}

func (e *evaluation) alert(t *testing.T, rule rulefmt.Rule, result promql.Sample, at time.Time) alert {
	t.Helper()
	from := result.Metric.Map()
	delete(from, labels.MetricName)
	a := alert{Labels: maps.Clone(from), Annotations: map[string]string{}}
	maps.Copy(a.Labels, rule.Labels)
	data := template.AlertTemplateData(from, nil, "", result)
	for name, text := range rule.Annotations {
		const variables = "{{$labels := .Labels}}{{$value := .Value}}"
		expanded, err := template.NewTemplateExpander(t.Context(), variables+text, rule.Alert, data, model.TimeFromUnixNano(at.UnixNano()), e.series.query, &url.URL{}, nil).Expand()
		if err != nil {
			t.Fatalf("%s: %s: %v", rule.Alert, name, err)
		}
		a.Annotations[name] = expanded
	}
	return a
}

// TestScenarios runs the scenarios of each alert, and those of recording rules. Each alert has one in which it fires, and a time at which it
// does not.
func TestScenarios(t *testing.T) {
	rules := readRules(t)
	fires := map[string]bool{}
	isQuiet := map[string]bool{}
	isAsked := map[string]bool{}
	files, err := filepath.Glob("testdata/*/*.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range append(files, "testdata/recordings.yaml") {
		var content struct{ Tests []scenario }
		if err := yaml.Unmarshal(readFile(t, file), &content); err != nil {
			t.Fatal(err)
		}
		for _, s := range content.Tests {
			t.Run(s.Name, func(t *testing.T) { s.run(t, rules) })
			for _, asked := range s.Alerts {
				fires[asked.Name] = fires[asked.Name] || len(asked.Want) > 0
				isQuiet[asked.Name] = isQuiet[asked.Name] || len(asked.Want) == 0
			}
			for _, asked := range s.Queries {
				isAsked[asked.Expression] = true
			}
		}
	}
	for _, rule := range rules {
		if rule.Alert != "" && (!fires[rule.Alert] || !isQuiet[rule.Alert]) {
			t.Errorf("%s: fires in a scenario: %v, does not: %v; want both", rule.Alert, fires[rule.Alert], isQuiet[rule.Alert])
		}
		if rule.Record != "" && !isAsked[rule.Record] {
			t.Errorf("no scenario asks for %s", rule.Record)
		}
	}
}

// rulesFor returns the rules of which the results of the scenario depend: the alerts that it asks for, and recordings in their expressions.
func (s scenario) rulesFor(all []rulefmt.Rule) (needed []rulefmt.Rule) {
	if len(s.Queries) > 0 {
		return all
	}
	asked := ""
	for _, a := range s.Alerts {
		asked += " " + a.Name
	}
	for _, rule := range all {
		if rule.Alert != "" && strings.Contains(asked, rule.Alert) {
			asked += " " + rule.Expr
		}
	}
	return slices.DeleteFunc(slices.Clone(all), func(rule rulefmt.Rule) bool { return !strings.Contains(asked, rule.Alert+rule.Record) })
}

func (s scenario) run(t *testing.T, rules []rulefmt.Rule) {
	e := &evaluation{rules: s.rulesFor(rules), series: series{}}
	for _, in := range s.Series {
		of, values, err := expressions.ParseSeriesDesc(in.Series + " " + in.Values)
		if err != nil {
			t.Fatal(err)
		}
		for i, v := range values {
			if !v.Omitted {
				e.series.add(of, timestamp.Time(0).Add(time.Duration(i)*time.Duration(s.Interval)), v.Value)
			}
		}
	}
	var last model.Duration
	for _, asked := range s.Alerts {
		last = max(last, asked.At)
	}
	for _, asked := range s.Queries {
		last = max(last, asked.At)
	}
	sorted := cmpopts.SortSlices(func(a, b alert) bool { return fmt.Sprint(a.Labels) < fmt.Sprint(b.Labels) })
	for at := model.Duration(0); at <= last; at += model.Duration(time.Minute) {
		now := timestamp.Time(0).Add(time.Duration(at))
		firing := e.step(t, now)
		for _, asked := range s.Alerts {
			if asked.At != at {
				continue
			}
			if diff := cmp.Diff(asked.Want, firing[asked.Name], sorted, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("at %s: %s (-want +got):\n%s", at, asked.Name, diff)
			}
		}
		for _, asked := range s.Queries {
			if asked.At != at {
				continue
			}
			vector, err := e.series.query(t.Context(), asked.Expression, now)
			if err != nil {
				t.Fatal(err)
			}
			want := map[string]float64{}
			for _, w := range asked.Want {
				of, err := expressions.ParseMetric(w.Labels)
				if err != nil {
					t.Fatal(err)
				}
				want[of.String()] = w.Value
			}
			got := map[string]float64{}
			for _, result := range vector {
				got[result.Metric.String()] = result.F
			}
			if diff := cmp.Diff(want, got, cmpopts.EquateApprox(1e-9, 0)); diff != "" {
				t.Errorf("at %s: %s (-want +got):\n%s", at, asked.Expression, diff)
			}
		}
	}
}
