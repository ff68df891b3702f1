package promql

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/prometheus/model/rulefmt"
)

const metricsPage = "../../docs/reference/metrics.md"

// vocabulary returns that of the operator and of its recording rules.
func vocabulary(t *testing.T) (Vocabulary, []rulefmt.RuleGroup) {
	t.Helper()
	v, err := ReadVocabulary(filepath.FromSlash(metricsPage))
	if err != nil {
		t.Fatal(err)
	}
	if len(v) < 80 || !slices.Contains(v["training_operator_jobs"].Labels, "state") || !slices.Contains(v["workqueue_queue_duration_seconds_bucket"].Labels, "le") {
		t.Fatalf("%d series in %s", len(v), metricsPage)
	}
	groups, err := ReadRules(filepath.FromSlash(rulesFile))
	if err != nil {
		t.Fatal(err)
	}
	for _, w := range v.AddRecordings(groups) {
		t.Error(w)
	}
	return v, groups
}

// TestRulesNameWhatExists: the operator has every metric, label and label value in a rule, and a description uses no label that the
// expression drops.
func TestRulesNameWhatExists(t *testing.T) {
	v, groups := vocabulary(t)
	for _, g := range groups {
		for _, r := range g.Rules {
			of, wrong := v.Check(r.Expr)
			for _, w := range wrong {
				t.Errorf("%s%s: %s", r.Alert, r.Record, w)
			}
			for _, text := range r.Annotations {
				for _, part := range strings.Split(text, "$labels.")[1:] {
					label := part[:strings.IndexFunc(part+" ", func(c rune) bool { return c != '_' && (c < 'a' || c > 'z') })]
					if !slices.Contains(of, label) {
						t.Errorf("%s: a description has the label %q, and the expression has only %v", r.Alert, label, of)
					}
				}
			}
		}
	}
}

// TestCheckNotices: each kind of mistake is found.
func TestCheckNotices(t *testing.T) {
	v, _ := vocabulary(t)
	for expression, want := range map[string]string{
		"sum by (namespace, job) (training_operator_jobs)":                             "",
		"training_operator_jobz":                                                       "no metric",
		`training_operator_jobs{status="Running"}`:                                     "no label",
		`training_operator_events_total{result="lost"}`:                                "does not speak of",
		"sum by (kind) (training_operator_jobs)":                                       `no label "kind"`,
		"rate(training_operator_jobs[5m])":                                             "which is a gauge",
		"workqueue_depth and on (kind) training_operator_build_info":                   `no label "kind"`,
		"sum by (job) (workqueue_depth) / sum by (controller) (workqueue_depth)":       "same labels",
		"histogram_quantile(0.5, sum by (job) (workqueue_queue_duration_seconds_sum))": `no label "le"`,
		"sum(": "parse error",
	} {
		_, wrong := v.Check(expression)
		if got := strings.Join(wrong, "; "); (want == "") != (got == "") || !strings.Contains(got, want) {
			t.Errorf("%s: %q, want %q", expression, got, want)
		}
	}
}

var query = regexp.MustCompile("(?s)```promql\n(.*?)```")

// TestRunbooksAskForWhatExists: the queries of runbooks are valid.
func TestRunbooksAskForWhatExists(t *testing.T) {
	v, _ := vocabulary(t)
	files, err := filepath.Glob(filepath.FromSlash("../../docs/runbooks/*.md"))
	if err != nil {
		t.Fatal(err)
	}
	queries := 0
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range query.FindAllStringSubmatch(string(text), -1) {
			queries++
			_, wrong := v.Check(m[1])
			for _, w := range wrong {
				t.Errorf("%s: %s", filepath.Base(file), w)
			}
		}
	}
	if queries < 20 {
		t.Errorf("%d queries in %d runbooks", queries, len(files))
	}
}
