package promql

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/url"
	"os"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/rulefmt"
	"github.com/prometheus/prometheus/model/timestamp"
	engine "github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/template"
)

// Parser returns a parser of expressions, without the experimental ones.
func Parser() parser.Parser { return parser.NewParser(parser.Options{}) }

// Engine returns Prometheus' own engine, with its usual options.
func Engine() *engine.Engine {
	return engine.NewEngine(engine.EngineOpts{MaxSamples: 1_000_000, Timeout: time.Minute, LookbackDelta: 5 * time.Minute,
		EnableAtModifier: true, EnableNegativeOffset: true, Parser: Parser()})
}

// ReadRules parses a rule file, strictly.
func ReadRules(file string) ([]rulefmt.RuleGroup, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("read the rules: %w", err)
	}
	all, wrong := rulefmt.Parse(text, false, model.LegacyValidation, Parser(), slog.New(slog.DiscardHandler))
	if err := errors.Join(wrong...); err != nil {
		return nil, fmt.Errorf("parse %s: %w", file, err)
	}
	return all.Groups, nil
}

// Alert is an alert that fires, or is pending.
type Alert struct {
	Labels, Annotations map[string]string
	Firing              bool
}

// Evaluation evaluates rules over the series of a Memory.
type Evaluation struct {
	groups []rulefmt.RuleGroup
	memory *Memory
	engine *engine.Engine
	// active is since when an alert has been active, by its name and labels.
	active map[string]time.Time
	// recorded are the series that a rule had last time, by its name and then by the series.
	recorded map[string]map[string]labels.Labels
}

// NewEvaluation begins with no pending alerts.
func NewEvaluation(groups []rulefmt.RuleGroup, memory *Memory) *Evaluation {
	return &Evaluation{groups: groups, memory: memory, engine: Engine(), active: map[string]time.Time{}, recorded: map[string]map[string]labels.Labels{}}
}

// Query returns the result of an expression at one time.
func (e *Evaluation) Query(ctx context.Context, expression string, at time.Time) (engine.Vector, error) {
	query, err := e.engine.NewInstantQuery(ctx, e.memory, nil, expression, at)
	if err != nil {
		return nil, fmt.Errorf("parse %q: %w", expression, err)
	}
	defer query.Close()
	result := query.Exec(ctx)
	if result.Err != nil {
		return nil, fmt.Errorf("evaluate %q: %w", expression, result.Err)
	}
	if warnings := result.Warnings.AsErrors(); len(warnings) > 0 {
		return nil, fmt.Errorf("evaluate %q: %w", expression, errors.Join(warnings...))
	}
	switch v := result.Value.(type) {
	case engine.Vector:
		return append(engine.Vector(nil), v...), nil // the query owns the other one
	case engine.Scalar:
		return engine.Vector{{F: v.V, T: v.T}}, nil
	}
	return nil, fmt.Errorf("%q is a %s", expression, result.Value.Type())
}

// Step evaluates all rules once and returns the alerts by name.
func (e *Evaluation) Step(ctx context.Context, at time.Time) (map[string][]Alert, error) {
	alerts := map[string][]Alert{}
	still := map[string]time.Time{}
	for _, group := range e.groups {
		for _, r := range group.Rules {
			found, err := e.Query(ctx, r.Expr, at)
			if err != nil {
				return nil, fmt.Errorf("rule %s%s: %w", r.Record, r.Alert, err)
			}
			if r.Record != "" {
				e.record(r, found, at)
				continue
			}
			for _, s := range found {
				alert, err := e.alert(ctx, r, s, at)
				if err != nil {
					return nil, err
				}
				key := fmt.Sprint(alert.Labels)
				since, known := e.active[key]
				if !known {
					since = at
				}
				still[key] = since
				alert.Firing = at.Sub(since) >= time.Duration(r.For)
				alerts[r.Alert] = append(alerts[r.Alert], alert)
			}
		}
	}
	e.active = still
	return alerts, nil
}

// record stores a result as series. A series without a result ends.
func (e *Evaluation) record(r rulefmt.Rule, found engine.Vector, at time.Time) {
	here := map[string]labels.Labels{}
	for _, s := range found {
		b := labels.NewBuilder(s.Metric).Set(labels.MetricName, r.Record)
		for name, v := range r.Labels {
			b.Set(name, v)
		}
		of := b.Labels()
		here[of.String()] = of
		e.memory.Append(of, timestamp.FromTime(at), s.F)
	}
	for key, of := range e.recorded[r.Record] {
		if _, still := here[key]; !still {
			e.memory.End(of, timestamp.FromTime(at))
		}
	}
	e.recorded[r.Record] = here
}

func (e *Evaluation) alert(ctx context.Context, r rulefmt.Rule, s engine.Sample, at time.Time) (Alert, error) {
	from := s.Metric.Map()
	delete(from, labels.MetricName)
	a := Alert{Labels: maps.Clone(from), Annotations: map[string]string{}}
	maps.Copy(a.Labels, r.Labels)
	a.Labels["alertname"] = r.Alert
	data := template.AlertTemplateData(from, nil, "", s)
	query := func(ctx context.Context, q string, at time.Time) (engine.Vector, error) { return e.Query(ctx, q, at) }
	for name, text := range r.Annotations {
		const names = "{{$labels := .Labels}}{{$value := .Value}}"
		expanded, err := template.NewTemplateExpander(ctx, names+text, r.Alert, data, model.TimeFromUnixNano(at.UnixNano()), query, &url.URL{}, nil).Expand()
		if err != nil {
			return a, fmt.Errorf("alert %s: %s: %w", r.Alert, name, err)
		}
		a.Annotations[name] = expanded
	}
	return a, nil
}
