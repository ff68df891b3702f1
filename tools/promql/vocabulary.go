package promql

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/rulefmt"
	"github.com/prometheus/prometheus/promql/parser"
)

// Vocabulary is the metrics of an operator, with their labels.
type Vocabulary map[string]Metric

// Metric is one family, or a series of a histogram.
type Metric struct {
	Kind   string
	Labels []string
	// Help names the values of labels that are words.
	Help string
}

// scraped returns the labels that Prometheus adds.
func scraped() []string { return []string{"namespace", "job", "instance"} }

var row = regexp.MustCompile("(?m)^\\| `([a-z_]+)` \\| ([a-z]+) \\| (.*?) \\| (.*) \\|$")

// ReadVocabulary reads the reference page of the metrics, which is generated from the program, and gets the metrics of the process from
// client_golang.
func ReadVocabulary(page string) (Vocabulary, error) {
	text, err := os.ReadFile(page)
	if err != nil {
		return nil, fmt.Errorf("read the metrics: %w", err)
	}
	v := Vocabulary{}
	for _, m := range row.FindAllStringSubmatch(string(text), -1) {
		of := scraped()
		for label := range strings.SplitSeq(m[3], ", ") {
			if label = strings.Trim(label, "`"); label != "" {
				of = append(of, label)
			}
		}
		v.add(m[1], m[2], m[4], of)
	}
	registry := prometheus.NewRegistry()
	registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	families, err := registry.Gather()
	if err != nil {
		return nil, fmt.Errorf("gather the metrics of the process: %w", err)
	}
	for _, f := range families {
		v.add(f.GetName(), strings.ToLower(f.GetType().String()), f.GetHelp(), scraped())
	}
	return v, nil
}

func (v Vocabulary) add(name, kind, help string, of []string) {
	if kind != "histogram" {
		v[name] = Metric{kind, of, help}
		return
	}
	v[name+"_sum"], v[name+"_count"] = Metric{"counter", of, help}, Metric{"counter", of, help}
	v[name+"_bucket"] = Metric{"counter", append(slices.Clone(of), "le"), help}
}

// AddRecordings adds the recording rules. It returns what is wrong with their own expressions.
func (v Vocabulary) AddRecordings(groups []rulefmt.RuleGroup) (wrong []string) {
	for _, g := range groups {
		for _, r := range g.Rules {
			if r.Record == "" {
				continue
			}
			of, problems := v.Check(r.Expr)
			for _, p := range problems {
				wrong = append(wrong, r.Record+": "+p)
			}
			v[r.Record] = Metric{"gauge", of, r.Expr}
		}
	}
	return wrong
}

// Check returns the labels that the result of an expression can have, and what is wrong with it: metrics and labels that do not exist,
// label values that the metric does not mention, rates of gauges, and gauges named like counters.
func (v Vocabulary) Check(expression string) (of, wrong []string) {
	parsed, err := Parser().ParseExpr(expression)
	if err != nil {
		return nil, []string{err.Error()}
	}
	c := &check{vocabulary: v}
	of = c.labels(parsed)
	return of, c.wrong
}

type check struct {
	vocabulary Vocabulary
	wrong      []string
}

func (c *check) report(format string, values ...any) {
	c.wrong = append(c.wrong, fmt.Sprintf(format, values...))
}

// labels returns those that the result of an expression can have.
func (c *check) labels(e parser.Expr) []string {
	switch e := e.(type) {
	case *parser.VectorSelector:
		return c.selector(e)
	case *parser.MatrixSelector:
		return c.labels(e.VectorSelector)
	case *parser.SubqueryExpr:
		return c.labels(e.Expr)
	case *parser.ParenExpr:
		return c.labels(e.Expr)
	case *parser.UnaryExpr:
		return c.labels(e.Expr)
	case *parser.StepInvariantExpr:
		return c.labels(e.Expr)
	case *parser.AggregateExpr:
		inner := c.labels(e.Expr)
		if e.Op == parser.TOPK || e.Op == parser.BOTTOMK {
			return inner
		}
		if e.Without {
			return slices.DeleteFunc(slices.Clone(inner), func(l string) bool { return slices.Contains(e.Grouping, l) })
		}
		c.known("by", e.Grouping, inner)
		return e.Grouping
	case *parser.Call:
		return c.call(e)
	case *parser.BinaryExpr:
		return c.binary(e)
	}
	return nil
}

func (c *check) selector(e *parser.VectorSelector) []string {
	metric, known := c.vocabulary[e.Name]
	if !known {
		c.report("there is no metric %q", e.Name)
		return nil
	}
	for _, m := range e.LabelMatchers {
		if m.Name == labels.MetricName {
			continue
		}
		if !slices.Contains(metric.Labels, m.Name) {
			c.report("%s has no label %q", e.Name, m.Name)
		}
		word := m.Type == labels.MatchEqual || m.Type == labels.MatchNotEqual
		if word && slices.Contains([]string{"class", "result"}, m.Name) && !regexp.MustCompile(`\b`+regexp.QuoteMeta(m.Value)+`\b`).MatchString(metric.Help) {
			c.report("%s does not speak of %s=%q: %s", e.Name, m.Name, m.Value, metric.Help)
		}
	}
	return metric.Labels
}

func (c *check) call(e *parser.Call) (of []string) {
	for _, arg := range e.Args {
		of = append(of, c.labels(arg)...)
		m, is := arg.(*parser.MatrixSelector)
		if !is {
			continue
		}
		name := m.VectorSelector.(*parser.VectorSelector).Name
		kind := c.vocabulary[name].Kind
		if counts := e.Func.Name == "rate" || e.Func.Name == "increase"; counts && kind != "counter" && kind != "" {
			c.report("%s of %s, which is a %s", e.Func.Name, name, kind)
		}
	}
	if e.Func.Name == "histogram_quantile" {
		c.known("histogram_quantile", []string{"le"}, of)
		of = slices.DeleteFunc(slices.Clone(of), func(l string) bool { return l == "le" })
	}
	return of
}

func (c *check) binary(e *parser.BinaryExpr) []string {
	left, right := c.labels(e.LHS), c.labels(e.RHS)
	m := e.VectorMatching
	if m == nil {
		return append(slices.Clone(left), right...)
	}
	if m.On {
		c.known("on", m.MatchingLabels, left)
		c.known("on", m.MatchingLabels, right)
	} else if m.Card != parser.CardManyToMany && len(m.MatchingLabels) == 0 && !same(left, right) {
		c.report("both sides of %s must have the same labels: %v and %v", e.Op, left, right)
	}
	if e.Op == parser.LOR {
		return append(slices.Clone(left), right...)
	}
	return append(slices.Clone(left), m.Include...)
}

func (c *check) known(where string, asked, there []string) {
	for _, label := range asked {
		if !slices.Contains(there, label) {
			c.report("%s (%s): there is no label %q among %v", where, strings.Join(asked, ", "), label, there)
		}
	}
}

func same(a, b []string) bool {
	a, b = slices.Sorted(slices.Values(a)), slices.Sorted(slices.Values(b))
	return slices.Equal(slices.Compact(a), slices.Compact(b))
}
