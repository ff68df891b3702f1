package deploy

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"
)

// TestChartCopies: Helm reads no file from outside a chart, so the chart has copies of the rules and dashboards; prometheusrule.yaml has the
// rules as an object. -update writes all of them.
func TestChartCopies(t *testing.T) {
	rules := readFile(t, "monitoring/rules.yaml")
	compare(t, "chart/files/rules.yaml", rules)
	for _, name := range []string{"operator.json", "jobs.json"} {
		compare(t, "chart/dashboards/"+name, readFile(t, "monitoring/dashboards/"+name))
	}
	object := readFile(t, "monitoring/prometheusrule.yaml")
	head, _, _ := bytes.Cut(object, []byte("\nspec:\n"))
	text := string(head) + "\nspec:\n"
	for line := range strings.Lines(string(rules)) {
		text += strings.TrimRight("  "+line, " \n") + "\n"
	}
	compare(t, "monitoring/prometheusrule.yaml", []byte(text))
}

// TestChartCRDs: the chart has the CRDs without their heads, which templates/crds.yaml writes, and without the schema of the pod template,
// which is nine tenths of each and the same in all: a Secret of at most 1 MiB has to hold a release. It has the other versions of a kind
// as items of a list. -update writes all of them.
func TestChartCRDs(t *testing.T) {
	const (
		podTemplate = "\n                    template:\n"
		placeholder = "#pod-template\n" // templates/crds.yaml replaces it
		note        = "# From deploy/%s, by `go test ./deploy -run TestChart -update`. Do not edit.\n"
	)
	files := map[string]string{"mpijobs-v2beta1.yaml": "mpijob-v2beta1/mpijobs.yaml"}
	paths, err := filepath.Glob("crd/*.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range paths {
		files[filepath.Base(path)] = path
	}
	expected := len(files) + 1
	for file, path := range files {
		_, spec, _ := strings.Cut(string(readFile(t, path)), "\nspec:\n")
		before, after, found := strings.Cut(spec, podTemplate)
		if !found || strings.Contains(after, podTemplate) || strings.Contains(spec, placeholder) {
			t.Fatalf("%s does not have one pod template", path)
		}
		end := 0
		for line := range strings.Lines(after) {
			if !strings.HasPrefix(line, strings.Repeat(" ", 21)) {
				break
			}
			end += len(line)
		}
		compare(t, "chart/crd-files/pod-template.yaml", []byte(podTemplate[1:]+after[:end]))
		compare(t, "chart/crd-files/"+file, []byte(strings.Replace(note, "%s", path, 1)+"spec:\n"+before+"\n"+placeholder+after[end:]))
	}
	for file, path := range map[string]string{"tfjobs-versions.yaml": "components/versions/tfjobs.yaml", "mpijobs-versions.yaml": "components/mpijob-versions/mpijobs.yaml"} {
		var operations []struct {
			Path  string
			Value json.RawMessage
		}
		if err := yaml.Unmarshal(readFile(t, path), &operations); err != nil {
			t.Fatal(err)
		}
		var versions []json.RawMessage
		for _, o := range operations {
			if o.Path == "/spec/versions/-" {
				versions = append(versions, o.Value)
			}
		}
		items, err := yaml.Marshal(versions)
		if err != nil {
			t.Fatal(err)
		}
		text := strings.Replace(note, "%s", path, 1)
		for line := range strings.Lines(string(items)) {
			text += "  " + line
		}
		compare(t, "chart/crd-files/"+file, []byte(text))
		expected++
	}
	if there, err := os.ReadDir("chart/crd-files"); err != nil || len(there) != expected {
		t.Errorf("the chart has %d CRD files, want %d; %v", len(there), expected, err)
	}
}

// TestChartValues: the page of the chart has a row for each value, in which its default stands.
func TestChartValues(t *testing.T) {
	page := string(readFile(t, "chart/README.md"))
	var values map[string]any
	if err := yaml.Unmarshal(readFile(t, "chart/values.yaml"), &values); err != nil {
		t.Fatal(err)
	}
	rows := 0
	var visit func(prefix string, values map[string]any)
	visit = func(prefix string, values map[string]any) {
		for key, value := range values {
			name := prefix + key
			if group, is := value.(map[string]any); is && strings.Contains(page, "| **`"+name+"`** |") {
				rows++
				visit(name+".", group)
				continue
			}
			text, err := json.Marshal(value)
			if err != nil {
				t.Fatal(err)
			}
			if rows++; !strings.Contains(page, "| `"+name+"` | `"+string(text)+"` |") {
				t.Errorf("chart/README.md has no row of %s with the default %s", name, text)
			}
		}
	}
	visit("", values)
	if found := strings.Count(page, "\n| `") + strings.Count(page, "\n| **`"); found != rows {
		t.Errorf("chart/README.md has %d rows, values.yaml has %d values", found, rows)
	}
}

func readFile(t *testing.T, path string) []byte {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// compare compares a file with what it should hold; with -update it writes that.
func compare(t *testing.T, path string, want []byte) {
	t.Helper()
	if *update {
		if err := os.WriteFile(path, want, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff(string(want), string(readFile(t, path))); diff != "" {
		t.Errorf("%s (-want +got); go test ./deploy -run TestChart -update writes it:\n%s", path, diff)
	}
}
