package main

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// root is the path of the checkout from this folder.
const root = "../../.."

func TestTableEscapes(t *testing.T) {
	if got, want := table([]string{"a"}, [][]string{{"x|y\nz"}}), "| a |\n|---|\n| x\\|y z |\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestUpstreamNames: dashboards use these names. They keep their spelling ("successful" where a condition is called Succeeded) and their
// labels.
func TestUpstreamNames(t *testing.T) {
	families, err := gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, what := range []string{"created", "deleted", "successful", "failed", "restarted"} {
		name := "training_operator_jobs_" + what + "_total"
		i := slices.IndexFunc(families, func(f family) bool { return f.name == name })
		if i < 0 {
			t.Errorf("%s is not there", name)
			continue
		}
		if f := families[i]; f.kind != "counter" || !slices.Equal(f.labels, []string{"framework", "job_namespace"}) {
			t.Errorf("%s is a %s with labels %v", name, f.kind, f.labels)
		}
	}
}

// TestLabels: each label is listed here with the reason why it has few values.
func TestLabels(t *testing.T) {
	few := map[string]string{
		"code": "HTTP", "method": "HTTP", "verb": "HTTP, and those of rights", "host": "one API server", "resource": "those that the operator asks for",
		"controller": "one a kind, and events", "name": "the same, of a queue", "kind": "kinds", "framework": "kinds",
		"job_namespace": "namespaces, as upstream has it", "reason": "codes", "result": "a few", "state": "conditions", "class": "four",
		"from": "versions of a kind", "to": "versions of a kind", "outcome": "a few",
		"version": "one", "revision": "one", "goversion": "one",
	}
	families, err := gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		for _, l := range f.labels {
			if few[l] == "" {
				t.Errorf("%s has label %s: how many values can it have?", f.name, l)
			}
		}
		if f.help == "" {
			t.Errorf("%s has no help", f.name)
		}
	}
}

// TestDocumentedMetricsExist: each word in a text that looks like one of our metrics is one. In the name of a recording rule,
// level:metric:operation, the metric has no suffix of a counter.
func TestDocumentedMetricsExist(t *testing.T) {
	families, err := gather()
	if err != nil {
		t.Fatal(err)
	}
	exists := func(name string) bool {
		return slices.ContainsFunc(families, func(f family) bool {
			part, is := strings.CutPrefix(name, f.name)
			return is && (part == "" || f.kind == "histogram" && slices.Contains([]string{"_bucket", "_sum", "_count"}, part))
		})
	}
	word := regexp.MustCompile(`:?\b(training_operator|workqueue|rest_client|controller_runtime|leader_election)_[a-z0-9_]*[a-z0-9]`)
	seen := 0
	err = filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && strings.HasPrefix(d.Name(), ".") && d.Name() != "..":
			return fs.SkipDir
		case d.IsDir() || !slices.Contains([]string{".md", ".yaml", ".json"}, filepath.Ext(path)):
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		for _, name := range word.FindAllString(string(text), -1) {
			seen++
			name, recorded := strings.CutPrefix(name, ":")
			if !exists(name) && !(recorded && exists(name+"_total")) {
				t.Errorf("%s speaks of %s, which is not there", path, name)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if seen < 10 {
		t.Errorf("found %d names of metrics in all texts; the pattern is wrong", seen)
	}
}
