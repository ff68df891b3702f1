package integrations

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	kstatus "github.com/fluxcd/cli-utils/pkg/kstatus/status"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// TestDocumentedTable: the table in docs/integrations.md says what each program shows for a job in each state.
func TestDocumentedTable(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(root, "docs", "integrations.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, table, found := strings.Cut(string(text), "\n## What each makes of a job\n")
	if !found {
		t.Fatal("no table")
	}
	documented := map[string][]string{}
	for line := range strings.Lines(table) {
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), "|")
		for i := range cells {
			cells[i] = strings.TrimSpace(cells[i])
		}
		if strings.HasPrefix(line, "## ") {
			break
		}
		if len(cells) == 6 {
			documented[cells[0]] = cells[1:]
		}
	}
	rows := map[string][]string{
		"new, not seen by the operator": {"new"}, "created, restarting": {"created", "restarting"},
		"running": {"running", "running-again", "resumed", "repaired", "repaired-edit"}, "suspended": {"suspended", "suspended-while-running"},
		"succeeded": {"succeeded"}, "failed": {"failed"}, "running, edited, not seen by the operator": {"unobserved"},
		"rejected when it was new": {"rejected"}, "suspended, with a bad edit": {"rejected-edit-suspended"}, "running, with a bad edit": {"rejected-edit"}, "succeeded, with a bad edit": {"rejected-edit-succeeded"},
		"running, being deleted": {"deleted"},
	}
	if len(documented) != len(rows)+2 { // the head, and the line below it
		t.Errorf("%d rows, want %d", len(documented)-2, len(rows))
	}
	said, states := sayings(t), 0
	for row, of := range rows {
		for _, state := range of {
			states++
			for _, s := range jobsIn(t, state) {
				for i, want := range documented[row] {
					if got := said[i](s); got != want && got != "" {
						t.Errorf("%s, column %d: %s, and %s in docs/integrations.md", s, i+1, got, want)
					}
				}
			}
		}
		if len(documented[row]) != len(said) {
			t.Errorf("no row %s", row)
		}
	}
	if states != 18 {
		t.Errorf("%d states", states)
	}
}

// sayings returns the functions that compute the columns of the table; "" means that a program does not support the kind.
func sayings(t *testing.T) []func(stored) string {
	scripts, checks, trials := healthScripts(t), healthChecks(t), experiments(t)
	var template workflowTemplate
	configuration(t, &template, "argo-workflows", "train.yaml")
	return []func(stored) string{
		func(s stored) string {
			status, _, _ := argoHealth(scripts, s.object)
			return status
		},
		func(s stored) string {
			if status, err := fluxStatus(checks, s.object); err == nil {
				return status
			}
			return "waits"
		},
		func(s stored) string {
			result, err := kstatus.Compute(&unstructured.Unstructured{Object: s.object})
			if err != nil {
				return sprint(err)
			}
			return string(result.Status)
		},
		func(s stored) string {
			step := argoStep(template.Spec.Templates[0].Resource, s)
			if trial, known := trials[s.apiVersion+" "+s.kind]; known && katibState(trial, s.object) != step {
				return "not the same for Katib"
			}
			return step
		},
		func(s stored) string {
			seen := kueueSees(s)
			switch {
			case notOfKueue(s):
				return ""
			case strings.Contains(seen, "finished"):
				return "finished"
			case strings.Contains(seen, "ready"):
				return "ready"
			case strings.Contains(seen, "suspended"):
				return "suspended"
			}
			return "waits"
		},
	}
}
