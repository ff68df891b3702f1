package promql

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/rulefmt"
	"github.com/prometheus/prometheus/promql/parser"
)

const root = "../../"

var expressions = parser.NewParser(parser.Options{})

func readFile(t *testing.T, file string) []byte {
	t.Helper()
	text, err := os.ReadFile(filepath.FromSlash(file))
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func readRules(t *testing.T) []rulefmt.Rule {
	t.Helper()
	file, problems := rulefmt.Parse(readFile(t, root+"deploy/monitoring/rules.yaml"), false, model.LegacyValidation, expressions, slog.New(slog.DiscardHandler))
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	var rules []rulefmt.Rule
	for _, group := range file.Groups {
		rules = append(rules, group.Rules...)
	}
	return rules
}

// metrics are the labels of each series: of the reference page, of every Go process and of recording rules.
type metrics map[string][]string

func (m metrics) add(name, kind string, names []string) {
	names = append(names, "namespace", "job", "instance") // Prometheus adds these
	m[name] = names
	if kind == "histogram" {
		m[name+"_count"] = names
		m[name+"_sum"] = names
		m[name+"_bucket"] = append(slices.Clone(names), "le")
	}
}

func readMetrics(t *testing.T) metrics {
	t.Helper()
	known := metrics{}
	row := regexp.MustCompile("(?m)^\\| `([a-z_]+)` \\| ([a-z]+) \\| (.*?) \\|")
	for _, cells := range row.FindAllStringSubmatch(string(readFile(t, root+"docs/reference/metrics.md")), -1) {
		known.add(cells[1], cells[2], strings.FieldsFunc(cells[3], func(r rune) bool { return strings.ContainsRune("`, ", r) }))
	}
	registry := prometheus.NewRegistry()
	registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	families, err := registry.Gather()
	if err != nil || len(known) < 60 {
		t.Fatalf("%d metrics, %v", len(known), err)
	}
	for _, family := range families {
		known.add(family.GetName(), strings.ToLower(family.GetType().String()), nil)
	}
	for _, rule := range readRules(t) {
		if rule.Record != "" {
			known[rule.Record] = check(t, known, rule.Record, rule.Expr)
		}
	}
	return known
}

// check reports metrics and labels in an expression that do not exist, and returns the labels of all metrics in it.
func check(t *testing.T, known metrics, where, text string) (there []string) {
	t.Helper()
	expression, err := expressions.ParseExpr(text)
	if err != nil {
		t.Errorf("%s: %v", where, err)
		return nil
	}
	var used []string
	parser.Inspect(expression, func(node parser.Node, _ []parser.Node) error {
		switch n := node.(type) {
		case *parser.VectorSelector:
			of, exists := known[n.Name]
			if !exists {
				t.Errorf("%s: there is no metric %s", where, n.Name)
			}
			for _, matcher := range n.LabelMatchers {
				if matcher.Name != labels.MetricName && !slices.Contains(of, matcher.Name) {
					t.Errorf("%s: %s has no label %s", where, n.Name, matcher.Name)
				}
			}
			there = append(there, of...)
		case *parser.AggregateExpr:
			used = append(used, n.Grouping...)
		case *parser.BinaryExpr:
			if n.VectorMatching != nil {
				used = append(used, n.VectorMatching.MatchingLabels...)
			}
		}
		return nil
	})
	for _, label := range used {
		if !slices.Contains(there, label) {
			t.Errorf("%s: no metric in it has the label %s: %s", where, label, text)
		}
	}
	return there
}

// TestNamesExist checks that rules, dashboards and runbooks ask only for metrics and labels that exist, and dashboards only for variables
// that they have.
func TestNamesExist(t *testing.T) {
	known := readMetrics(t)
	checked := 0
	labelInText := regexp.MustCompile(`\$labels\.(\w+)|{{(\w+)}}`)
	checkTexts := func(where string, there []string, texts ...string) {
		for _, m := range labelInText.FindAllStringSubmatch(strings.Join(texts, " "), -1) {
			if label := m[1] + m[2]; !slices.Contains(there, label) {
				t.Errorf("%s: a text has the label %s, the expression has only %v", where, label, there)
			}
		}
	}
	for _, rule := range readRules(t) {
		there := check(t, known, rule.Alert+rule.Record, rule.Expr)
		checkTexts(rule.Alert, there, rule.Annotations["summary"], rule.Annotations["description"])
	}
	variable := regexp.MustCompile(`\$[a-z_]+`)
	for _, name := range []string{"operator", "jobs"} {
		var dashboard struct {
			Panels []struct {
				Title   string
				Targets []struct{ Expr, LegendFormat string }
			}
			Templating struct {
				List []struct{ Name, Definition string }
			}
		}
		if err := json.Unmarshal(readFile(t, root+"deploy/monitoring/dashboards/"+name+".json"), &dashboard); err != nil {
			t.Fatal(err)
		}
		var variables []string
		for _, v := range dashboard.Templating.List {
			variables = append(variables, "$"+v.Name)
			if definition := regexp.MustCompile(`^label_values\((\w+), (\w+)\)$`).FindStringSubmatch(v.Definition); definition != nil {
				check(t, known, name+" "+v.Name, fmt.Sprintf("sum by (%s) (%s)", definition[2], definition[1]))
			}
		}
		for _, panel := range dashboard.Panels {
			for _, target := range panel.Targets {
				checked++
				for _, used := range variable.FindAllString(target.Expr, -1) {
					if !slices.Contains(variables, used) {
						t.Errorf("%s: %s: there is no variable %s", name, panel.Title, used)
					}
				}
				there := check(t, known, name+": "+panel.Title, variable.ReplaceAllString(target.Expr, ".*"))
				checkTexts(panel.Title, there, target.LegendFormat)
			}
		}
	}
	files, err := filepath.Glob(root + "docs/runbooks/*.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		for _, query := range regexp.MustCompile("(?s)```promql\n(.*?)```").FindAllStringSubmatch(string(readFile(t, file)), -1) {
			checked++
			check(t, known, file, query[1])
		}
	}
	if checked < 60 {
		t.Errorf("%d expressions in dashboards and runbooks", checked)
	}
}
