package monitoring

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
)

const (
	root     = "../.."
	runbooks = root + "/docs/runbooks"
)

func read(t *testing.T, elements ...string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(elements...))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestRunbooks: each alert has a runbook with four sections, and each runbook has an alert. What a runbook names exists.
func TestRunbooks(t *testing.T) {
	there := thereIs(t)
	var want []string
	for _, a := range Alerts() {
		want = append(want, a.Name+".md")
		for _, wrong := range there.wrongIn(a.Name, read(t, runbooks, a.Name+".md")) {
			t.Errorf("%s.md: %s", a.Name, wrong)
		}
	}
	entries, err := os.ReadDir(runbooks)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, e := range entries {
		got = append(got, e.Name())
	}
	slices.Sort(want)
	if !slices.Equal(want, got) {
		t.Errorf("runbooks %v, alerts %v", got, want)
	}
}

// things are what a runbook may name.
type things struct {
	commands, flags, targets, metrics, roots []string
	// reasons and objects are pages in which a name must occur.
	reference string
}

func thereIs(t *testing.T) things {
	t.Helper()
	flags, metrics := read(t, root, "docs/reference/flags.md"), read(t, root, "docs/reference/metrics.md")
	first := func(pattern, text string) (all []string) {
		for _, m := range regexp.MustCompile(pattern).FindAllStringSubmatch(text, -1) {
			all = append(all, m[1])
		}
		return all
	}
	th := things{commands: first("(?m)^## stoic ([a-z]+)$", flags), flags: first("`(--[a-z-]+)`", flags),
		targets: first("(?m)^([a-z-]+):.* ##", read(t, root, "Makefile")), metrics: first("(?m)^\\| `([a-z_]+)` \\|", metrics),
		reference: read(t, root, "docs/reference/events.md") + read(t, root, "docs/reference/codes.md")}
	registry := prometheus.NewRegistry()
	registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		th.metrics = append(th.metrics, f.GetName())
	}
	for _, r := range Recordings() {
		th.metrics = append(th.metrics, r.Record)
	}
	if len(th.commands) < 5 || len(th.flags) < 20 || len(th.targets) < 10 || len(th.metrics) < 80 {
		t.Fatalf("%d commands, %d flags, %d targets, %d metrics", len(th.commands), len(th.flags), len(th.targets), len(th.metrics))
	}
	return th
}

var (
	fence       = regexp.MustCompile("(?s)```(sh|promql)\n(.*?)```")
	ourMetric   = regexp.MustCompile(`\b(?:training_operator|workqueue|rest_client|controller_runtime|leader_election|process|go)_[a-z0-9_:]+\b|\boperator_[a-z_]+:[a-z0-9_:]+\b`)
	stoicCall   = regexp.MustCompile(`(?m)(?:^|[|` + "`" + `] ?)stoic ([a-z]+)((?: [^` + "`" + `\n]*)?)`)
	makeCall    = regexp.MustCompile("(?m)(?:^|`)make ([a-z-]+)")
	link        = regexp.MustCompile(`\]\(([^)]+)\)`)
	placeInCode = regexp.MustCompile(`\b(deploy/[a-z0-9./-]+)`)
	flagInCode  = regexp.MustCompile("`(--[a-z-]+)`")
	reasonWord  = regexp.MustCompile("`((?:Pod|Failed|PodGroup)[A-Z][A-Za-z]+)`")
)

// wrongIn returns what is wrong in a runbook, one sentence each.
func (th things) wrongIn(alert, text string) (wrong []string) {
	report := func(what, name string) { wrong = append(wrong, what+": "+name) }
	if !strings.HasPrefix(text, "# "+alert+"\n\n## Meaning\n") {
		report("it must begin with its name and the section Meaning", text[:min(40, len(text))])
	}
	sections := strings.Split(text, "\n## ")[1:]
	for i, title := range []string{"Meaning", "Impact", "Diagnosis", "Mitigation"} {
		if i >= len(sections) || !strings.HasPrefix(sections[i], title+"\n\n") || len(sections[i]) < 60 {
			report("section missing, short, or out of order", title)
		} else if title == "Diagnosis" && !fence.MatchString(sections[i]) {
			report("no command and no query in", title)
		}
	}
	if len(sections) != 4 {
		report("four sections", strings.Join(sections, "|"))
	}
	each := func(what string, found [][]string, known []string) {
		for _, m := range found {
			if !slices.Contains(known, m[1]) {
				report(what, m[1])
			}
		}
	}
	each("no such command of stoic", stoicCall.FindAllStringSubmatch(text, -1), th.commands)
	each("no such target of make", makeCall.FindAllStringSubmatch(text, -1), th.targets)
	each("no such flag", flagInCode.FindAllStringSubmatch(text, -1), append(slices.Clone(th.flags), "--server-side"))
	for _, call := range stoicCall.FindAllStringSubmatch(text, -1) {
		for word := range strings.FieldsSeq(call[2]) {
			if strings.HasPrefix(word, "--") && !slices.Contains(th.flags, word) {
				report("no such flag of stoic", word)
			}
		}
	}
	for _, name := range ourMetric.FindAllString(text, -1) {
		family := regexp.MustCompile(`_(bucket|sum|count)$`).ReplaceAllString(name, "")
		if !slices.Contains(th.metrics, name) && !slices.Contains(th.metrics, family) {
			report("no such metric", name)
		}
	}
	for _, m := range link.FindAllStringSubmatch(text, -1) {
		if _, err := os.Stat(filepath.Join(runbooks, m[1])); err != nil {
			report("a link leads nowhere", m[1])
		}
	}
	for _, m := range placeInCode.FindAllStringSubmatch(text, -1) {
		if _, err := os.Stat(filepath.Join(root, strings.TrimRight(m[1], "."))); err != nil && m[1] != "deploy/training-operator" {
			report("no such file", m[1])
		}
	}
	for _, m := range reasonWord.FindAllStringSubmatch(text, -1) {
		if !strings.Contains(th.reference, "`"+m[1]+"`") {
			report("no such reason", m[1])
		}
	}
	return wrong
}

// TestRunbooksAreRead: each kind of mistake in a runbook is found.
func TestRunbooksAreRead(t *testing.T) {
	th := thereIs(t)
	right := read(t, runbooks, "TrainingJobsRejected.md")
	if wrong := th.wrongIn("TrainingJobsRejected", right); len(wrong) > 0 {
		t.Fatal(wrong)
	}
	for what, text := range map[string]string{
		"begin with its name":    strings.Replace(right, "# TrainingJobsRejected", "# Other", 1),
		"out of order":           strings.Replace(right, "## Impact", "## Effect", 1),
		"no command":             fence.ReplaceAllString(right, ""),
		"no such command":        right + "\n`stoic check -f a.yaml`\n",
		"no such flag of stoic":  right + "\n`stoic validate --lively`\n",
		"no such target":         right + "\n`make coffee`\n",
		"no such metric":         right + "\n`training_operator_jobs_lost_total`\n",
		"no such flag: --leader": right + "\n`--leader`\n",
		"leads nowhere":          right + "\n[a](Nothing.md)\n",
		"no such file":           right + "\n`deploy/nothing`\n",
		"no such reason":         right + "\n`PodUnhappy`\n",
	} {
		if wrong := strings.Join(th.wrongIn("TrainingJobsRejected", text), "; "); !strings.Contains(wrong, what) {
			t.Errorf("%s: %q", what, wrong)
		}
	}
}
