package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"stoic/deploy/monitoring"
)

// TestRun: the check writes nothing and names each file that is missing or differs; what is written passes the check; the address of the
// runbooks is the given one.
func TestRun(t *testing.T) {
	root := t.TempDir()
	files, err := monitoring.Files(monitoring.Runbooks)
	if err != nil {
		t.Fatal(err)
	}
	err = run(root, monitoring.Runbooks, true)
	for _, f := range files {
		if err == nil || !strings.Contains(err.Error(), f.Path) {
			t.Errorf("%s is not named: %v", f.Path, err)
		}
	}
	if entries, err := os.ReadDir(root); err != nil || len(entries) > 0 {
		t.Errorf("the check has written %v, %v", entries, err)
	}
	if err := run(root, monitoring.Runbooks, false); err != nil {
		t.Fatal(err)
	}
	if err := run(root, monitoring.Runbooks, true); err != nil {
		t.Error(err)
	}
	rules := filepath.Join(root, "deploy", "monitoring", "rules.yaml")
	if err := os.WriteFile(rules, []byte("groups: []\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := run(root, monitoring.Runbooks, true); err == nil || strings.Count(err.Error(), "\n") != 1 || !strings.Contains(err.Error(), "rules.yaml") {
		t.Errorf("of one file that was changed: %v", err)
	}
	const address = "https://git.example.com/runbooks/"
	if err := run(root, address, false); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(rules)
	if err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(string(text), "runbook_url: "+address+"Training"); n != len(monitoring.Alerts()) {
		t.Errorf("%d alerts lead to %s", n, address)
	}
	// The template of the chart replaces this address by the value prometheusRule.runbooks.
	if text, err = os.ReadFile(filepath.Join(root, "deploy", "chart", "files", "rules.yaml")); err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(string(text), "runbook_url: "+monitoring.Runbooks+"Training"); n != len(monitoring.Alerts()) {
		t.Errorf("in the chart, %d alerts have the address that its template replaces", n)
	}
}
