package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"stoic/cli/command"
	"stoic/schema"
)

// checkSARIF checks that there is one run, with all codes as rules and the given number of results, each of which has a place and a
// rule. It returns the fingerprints of the results. The goldens of validate have the whole output.
func checkSARIF(t *testing.T, text []byte, findings int) (fingerprints []string) {
	t.Helper()
	var log sarifLog
	if err := json.Unmarshal(text, &log); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	if log.Version != "2.1.0" || len(log.Runs) != 1 {
		t.Fatalf("version %v, %d runs", log.Version, len(log.Runs))
	}
	run := log.Runs[0]
	driver := run.Tool.Driver
	if driver.Name != "stoic" || driver.Version != command.Version || len(driver.Rules) != len(schema.Codes()) || len(run.Results) != findings {
		t.Errorf("%s %s with %d rules and %d results, want %d", driver.Name, driver.Version, len(driver.Rules), len(run.Results), findings)
	}
	for _, r := range run.Results {
		if r.Message.Text == "" || r.Index < 0 || r.Index >= len(driver.Rules) || driver.Rules[r.Index].ID != r.Rule {
			t.Errorf("%+v", r)
		}
		for _, l := range r.Locations {
			p := l.Physical
			if p != nil && (p.Region.Line < 1 || p.Region.Column < 1 || p.Artifact.URI == "" && p.Artifact.Description == nil) {
				t.Errorf("%+v", *p)
			}
		}
		for _, fingerprint := range r.Fingerprints {
			fingerprints = append(fingerprints, fingerprint)
		}
	}
	return fingerprints
}

// printed returns a report as SARIF.
func printed(t *testing.T, r *report) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := r.sarif(&b); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// TestFingerprints: a finding keeps its fingerprint when lines are added above it or its value changes. A finding of another object has
// another fingerprint, and so has a second one of the same kind.
func TestFingerprints(t *testing.T) {
	const text = "apiVersion: kubeflow.org/v1\nkind: TFJob\nmetadata: {name: %s}\nspec: {runPolicy: {backoffLimit: %s}, tfReplicaSpecs: {Worker: {template: {spec: {containers: [{name: tensorflow, image: tf}]}}}}}\n"
	of := func(text string) []string {
		var r report
		r.source("job.yaml", []byte(text))
		return checkSARIF(t, printed(t, &r), len(r.Results))
	}
	a := of(fmt.Sprintf(text, "a", "x"))
	if len(a) != 1 {
		t.Fatal(a)
	}
	if moved := of("# new\n\n" + fmt.Sprintf(text, "a", "y")); !slices.Equal(moved, a) {
		t.Errorf("%v became %v", a, moved)
	}
	both := of(fmt.Sprintf(text, "a", "x") + "---\n" + fmt.Sprintf(text, "b", "x") + "---\n" + fmt.Sprintf(text, "a", "x"))
	if len(both) != 3 || both[0] != a[0] || both[1] == a[0] || both[2] == a[0] || both[2] == both[1] {
		t.Errorf("%v and %v", a, both)
	}
}

// TestArtifacts: whatever the name of a file, its URI is legal and resolves to the file.
func TestArtifacts(t *testing.T) {
	here, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(here)
	for file, want := range map[string]string{
		"job.yaml":                               "job.yaml",
		"./a/../b/job.yaml":                      "b/job.yaml",
		"a b/ü#?%.yaml":                          "a%20b/%C3%BC%23%3F%25.yaml",
		"c:job.yaml":                             "c%3Ajob.yaml",
		"<job>\n\xff.yaml":                       "%3Cjob%3E%0A%FF.yaml",
		filepath.Join(here, "job.yaml"):          "job.yaml",
		"/etc/a b.yaml":                          "file:///etc/a%20b.yaml",
		"../job.yaml":                            "file://" + filepath.ToSlash(filepath.Dir(here)) + "/job.yaml",
		"..job.yaml":                             "..job.yaml",
		filepath.Join("a", "b", "..", "c.yaml"):  "a/c.yaml",
		strings.Repeat("../", 60) + "etc/x.yaml": "file:///etc/x.yaml",
		standardInput:                            "",
	} {
		r := report{Results: []finding{{File: file, Line: 1, Column: 1, Severity: "error", Code: schema.TooLarge, Message: "m"}}}
		checkSARIF(t, printed(t, &r), 1)
		if got := artifactOf(file).URI; got != want {
			t.Errorf("%q: %q, want %q", file, got, want)
		}
	}
	if err := os.Remove(here); err == nil {
		if got := artifactOf("job.yaml"); got.URI != "" || got.Description == nil {
			t.Errorf("in a folder that is gone: %+v", got)
		}
	}
}
