package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	rbacv1 "k8s.io/api/rbac/v1"
	"sigs.k8s.io/yaml"

	"stoic/training/kinds"
)

const root = "../.."

// TestChartIsUpToDate: the files in the chart are as they would be written.
func TestChartIsUpToDate(t *testing.T) {
	if err := run(root, true); err != nil {
		t.Error(err)
	}
}

// TestCheckFinds: the check fails on a file that differs, is missing or is superfluous; writing repairs all three.
func TestCheckFinds(t *testing.T) {
	copied := t.TempDir()
	if err := os.CopyFS(filepath.Join(copied, "deploy"), os.DirFS(root+"/deploy")); err != nil {
		t.Fatal(err)
	}
	chart := filepath.Join(copied, "deploy/chart")
	for name, harm := range map[string]func() error{
		"differs": func() error {
			return os.WriteFile(filepath.Join(chart, "files/permissions.yaml"), []byte("kinds: {}\n"), 0o600)
		},
		"missing": func() error { return os.Remove(filepath.Join(chart, "crd-files/tfjobs.yaml")) },
		"orphan":  func() error { return os.WriteFile(filepath.Join(chart, "crd-files/mxjobs.yaml"), nil, 0o600) },
	} {
		if err := run(copied, true); err != nil {
			t.Fatalf("before %s: %v", name, err)
		}
		if err := harm(); err != nil {
			t.Fatal(err)
		}
		if err := run(copied, true); err == nil {
			t.Errorf("%s: not noticed", name)
		}
		if err := run(copied, false); err != nil {
			t.Errorf("%s: write anew: %v", name, err)
		}
	}
}

// TestCRDsAreWhole: with the pod template inserted again, each file equals the CRD that it was made from.
func TestCRDsAreWhole(t *testing.T) {
	files, err := crds(root)
	if err != nil {
		t.Fatal(err)
	}
	texts := map[string][]byte{}
	for _, f := range files {
		texts[strings.TrimPrefix(f.path, "crd-files/")] = f.text
	}
	if want := len(kinds.All()) + 4; len(files) != want { // a second version of one kind, those of two that are converted, and the pod template
		t.Errorf("%d files, want %d", len(files), want)
	}
	originals := map[string]string{"mpijobs-v2beta1.yaml": "mpijob-v2beta1/mpijobs.yaml"}
	for _, kind := range kinds.All() {
		originals[kind.Plural+".yaml"] = "crd/" + kind.Plural + ".yaml"
	}
	for name, from := range originals {
		original, err := os.ReadFile(filepath.Join(root, "deploy", from))
		if err != nil {
			t.Fatal(err)
		}
		_, want, _ := bytes.Cut(original, []byte("\nspec:\n"))
		_, got, _ := bytes.Cut(texts[name], []byte("\nspec:\n"))
		got = bytes.ReplaceAll(got, []byte(placeholder), texts["pod-template.yaml"])
		if !bytes.Equal(want, got) || len(want) < 400_000 {
			t.Errorf("%s is not %s: %d bytes, want %d", name, from, len(got), len(want))
		}
	}
}

// TestSplitRefuses: split rejects a text that could not be put together again.
func TestSplitRefuses(t *testing.T) {
	const one = "spec:\n  a:" + templateKey + "                      b: 1\n  c: 2\n"
	for name, text := range map[string]string{
		"no spec": "kind: x\n", "no pod template": "x: 1\nspec:\n  a: 1\n", "two of them": "x: 1\n" + one + strings.TrimPrefix(one, "spec:\n"),
		"a placeholder": "x: 1\n" + one + placeholder, "a document's end": "x: 1\n" + one + "---\n",
	} {
		if _, _, err := split([]byte(text)); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	short, podTemplate, err := split([]byte("x: 1\n" + one))
	if err != nil || string(short) != "spec:\n  a:\n"+placeholder+"  c: 2\n" || string(podTemplate) != templateKey[1:]+"                      b: 1\n" {
		t.Errorf("%q, %q, %v", short, podTemplate, err)
	}
}

// TestAddedRefuses: added rejects patches that the template would not write.
func TestAddedRefuses(t *testing.T) {
	const version, conversion = "- {op: add, path: /spec/versions/-, value: {name: v2}}\n", "- {op: add, path: /spec/conversion, value: {strategy: None}}\n"
	for name, patch := range map[string]string{
		"no version": conversion, "another place": version + "- {op: add, path: /spec/scope, value: Cluster}\n", "a removal": "- {op: remove, path: /spec/versions/-}\n",
		"no patch": "spec: {}\n", "no operation": "- {path: /spec/versions/-, values: {}}\n",
	} {
		if text, err := added([]byte(patch)); err == nil {
			t.Errorf("%s: no error: %s", name, text)
		}
	}
	if text, err := added([]byte(version + conversion)); err != nil || string(text) != "  - name: v2\n" {
		t.Errorf("%q, %v", text, err)
	}
}

// TestPermissionsOfTheChart: the chart contains each role of deploy, with its rules.
func TestPermissionsOfTheChart(t *testing.T) {
	got, err := permissions(root)
	if err != nil {
		t.Fatal(err)
	}
	var content struct {
		Kinds map[string]string
		Roles map[string]role
	}
	if err := yaml.UnmarshalStrict(got.text, &content); err != nil {
		t.Fatal(err)
	}
	for name, rules := range map[string]int{
		"training-operator": 9, "training-operator-mpijob": 5, "training-operator-mpijob-v2beta1": 4, "training-operator-leader-election": 2,
		"training-operator-metrics-auth": 2, "training-operator-metrics-reader": 1,
		"kubeflow-training-admin": 0, "kubeflow-training-edit": 6, "kubeflow-training-view": 3,
	} {
		if found, known := content.Roles[name]; !known || len(found.Rules) != rules {
			t.Errorf("%s has %d rules, want %d", name, len(found.Rules), rules)
		}
	}
	if len(content.Roles) != 9 {
		t.Errorf("%d roles", len(content.Roles))
	}
	want := []rbacv1.PolicyRule{
		{APIGroups: []string{"coordination.k8s.io"}, Resources: []string{"leases"}, ResourceNames: []string{"1ca428e5.training-operator.kubeflow.org"}, Verbs: []string{"get", "update"}},
		{APIGroups: []string{"coordination.k8s.io"}, Resources: []string{"leases"}, Verbs: []string{"create"}},
	}
	if diff := cmp.Diff(want, content.Roles["training-operator-leader-election"].Rules); diff != "" {
		t.Error(diff)
	}
}

// TestSchemaKnowsKinds: the value kinds accepts each kind, and no other word.
func TestSchemaKnowsKinds(t *testing.T) {
	text, err := os.ReadFile(root + "/deploy/chart/values.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	var schema struct {
		Properties struct {
			Kinds struct{ Items struct{ Enum []string } }
		}
	}
	if err := json.Unmarshal(text, &schema); err != nil {
		t.Fatal(err)
	}
	var want []string
	for _, kind := range kinds.All() {
		want = append(want, kind.Name)
	}
	if diff := cmp.Diff(want, schema.Properties.Kinds.Items.Enum); diff != "" {
		t.Errorf("kinds (-want +got):\n%s", diff)
	}
}

// TestEveryValueIsDocumented: a value without a comment is an error that names it.
func TestEveryValueIsDocumented(t *testing.T) {
	dir := t.TempDir()
	if err := os.MkdirAll(filepath.Join(dir, "deploy/chart"), 0o700); err != nil {
		t.Fatal(err)
	}
	values := "# A.\na:\n  # B.\n  b: 1\n  c: {}\n"
	if err := os.WriteFile(filepath.Join(dir, "deploy/chart/values.yaml"), []byte(values), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := readme(dir); err == nil || !strings.Contains(err.Error(), "a.c has no comment") {
		t.Errorf("got %v", err)
	}
}
