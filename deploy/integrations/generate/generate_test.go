package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"stoic/test/untyped"
	"stoic/training"
	"stoic/training/convert"
	"stoic/training/kinds"
)

// TestTrialsAreJobs: the operator runs the job in each Experiment without a warning.
func TestTrialsAreJobs(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "katib", "experiments.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var tried []*training.Kind
	for document := range strings.SplitSeq(string(text), "\n---\n") {
		experiment := untyped.Parse(t, []byte(document))
		if experiment.GetKind() != "Experiment" {
			continue // comments
		}
		spec, found, err := unstructured.NestedMap(experiment.Object, "spec", "trialTemplate", "trialSpec")
		if !found || err != nil {
			t.Fatalf("%s has no trialSpec: %v", experiment.GetName(), err)
		}
		job := &unstructured.Unstructured{Object: spec}
		job.SetName("trial")
		job.SetNamespace("ns")
		job.SetUID("u")
		for _, kind := range kinds.All() {
			if kind.Name != job.GetKind() || kind.APIVersion() != job.GetAPIVersion() {
				continue
			}
			tried = append(tried, kind)
			if result := convert.Object(kind, job); result.Rejection != nil || len(result.Warnings) > 0 {
				t.Errorf("%s: rejected: %+v, warnings: %v", kind.Name, result.Rejection, result.Warnings)
			}
		}
	}
	if len(tried) != len(kinds.All()) {
		t.Errorf("%d experiments have a job of a kind that is served, want %d", len(tried), len(kinds.All()))
	}
}

// TestComponents: kustomize adds both components of Argo CD to one ConfigMap, and keeps its other keys.
func TestComponents(t *testing.T) {
	kubectl, err := exec.LookPath("kubectl")
	if err != nil {
		t.Skip("no kubectl")
	}
	integrations, err := filepath.Abs("..")
	if err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	relative, err := filepath.Rel(folder, integrations)
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"argocd-cm.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: argocd-cm}\ndata: {url: https://example.org}\n",
		"kustomization.yaml": "resources: [argocd-cm.yaml]\ncomponents:\n- " + filepath.Join(relative, "argocd", "health") +
			"\n- " + filepath.Join(relative, "argocd", "differences") + "\n",
	} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	rendered, err := exec.Command(kubectl, "kustomize", folder).CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, rendered)
	}
	var config struct{ Data map[string]string }
	if err := yaml.Unmarshal(rendered, &config); err != nil {
		t.Fatal(err)
	}
	want := []string{"url"}
	for _, kind := range kinds.All() {
		for _, of := range []string{"health", "ignoreDifferences"} {
			want = append(want, "resource.customizations."+of+"."+kind.Group+"_"+kind.Name)
		}
	}
	for _, key := range want {
		if config.Data[key] == "" {
			t.Errorf("no key %s", key)
		}
		delete(config.Data, key)
	}
	if len(config.Data) > 0 {
		t.Errorf("also: %v", config.Data)
	}
}

// TestPluginFlags: the k9s plugin calls a command of stoic with flags that it has.
func TestPluginFlags(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "k9s", "plugins.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var file struct {
		Plugins map[string]struct{ Args []string }
	}
	if err := yaml.Unmarshal(text, &file); err != nil {
		t.Fatal(err)
	}
	reference, err := os.ReadFile(filepath.Join("..", "..", "..", "docs", "reference", "flags.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, section, found := strings.Cut(string(reference), "\n## stoic validate\n")
	section, _, _ = strings.Cut(section, "\n## ")
	if !found {
		t.Fatal("docs/reference/flags.md has no stoic validate")
	}
	plugin := file.Plugins["stoic-validate"]
	words := strings.Fields(strings.Join(plugin.Args, " "))
	if !slices.Contains(words, "stoic") || !slices.Contains(words, "validate") {
		t.Errorf("%q does not run stoic validate", words)
	}
	for _, word := range words {
		if flag, is := strings.CutPrefix(word, "--"); is && !strings.Contains(section, "`--"+flag+"`") {
			t.Errorf("stoic validate has no flag --%s", flag)
		}
	}
}
