package integrations

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/tidwall/gjson"
	"sigs.k8s.io/yaml"
)

// experiment has the fields of an Experiment that decide about trials.
type experiment struct {
	Spec struct {
		TrialTemplate struct {
			PrimaryContainerName string            `json:"primaryContainerName"`
			PrimaryPodLabels     map[string]string `json:"primaryPodLabels"`
			SuccessCondition     string            `json:"successCondition"`
			FailureCondition     string            `json:"failureCondition"`
			TrialSpec            map[string]any    `json:"trialSpec"`
		} `json:"trialTemplate"`
	} `json:"spec"`
}

// experiments returns them by the apiVersion and kind of their trials.
func experiments(t *testing.T) map[string]experiment {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(integrations, "katib", "experiments.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]experiment{}
	for _, document := range bytes.Split(text, []byte("\n---\n")) {
		var e experiment
		if err := yaml.Unmarshal(document, &e); err != nil {
			t.Fatal(err)
		}
		if spec := e.Spec.TrialTemplate.TrialSpec; spec != nil {
			found[textAt(spec, "apiVersion")+" "+textAt(spec, "kind")] = e
		}
	}
	return found
}

// katibState returns the state that Katib computes for a trial. The conditions are gjson paths into the job, and hold if they lead to
// anything; the failure condition is checked first.
func katibState(e experiment, object map[string]any) string {
	text, err := json.Marshal(object)
	if err != nil {
		return sprint(err)
	}
	for _, c := range []struct{ state, path string }{{"failed", e.Spec.TrialTemplate.FailureCondition}, {"succeeded", e.Spec.TrialTemplate.SuccessCondition}} {
		if result := gjson.GetBytes(text, c.path); result.Exists() && len(result.Array()) > 0 {
			return c.state
		}
	}
	return "running"
}

// notOfKatib reports whether Katib does not create such a job: it creates MPIJobs of v1 only.
func notOfKatib(s stored) bool { return s.is("MPIJob", "kubeflow.org/v2beta1") }

func TestKatibTrials(t *testing.T) {
	all := experiments(t)
	rule := func(s stored) string {
		e, found := all[s.apiVersion+" "+s.kind]
		if !found {
			return "no experiment"
		}
		return katibState(e, s.object)
	}
	hold(t, map[string]string{
		"new": "running", "created": "running", "running": "running", "restarting": "running", "running-again": "running",
		"suspended": "running", "suspended-while-running": "running", "resumed": "running", "succeeded": "succeeded", "failed": "failed",
		"unobserved": "running", "rejected": "failed", "repaired": "running", "rejected-edit-suspended": "running", "rejected-edit": "running", "repaired-edit": "running",
		"rejected-edit-succeeded": "succeeded", "deleted": "running",
	}, rule, notOfKatib)
	for _, s := range jobsIn(t, "succeeded") {
		if notOfKatib(s) {
			continue
		}
		mustDiffer(t, rule, s, s.withCondition(t, "Succeeded", func(c map[string]any) { c["status"] = "False" }))
		mustDiffer(t, rule, s, s.withCondition(t, "Running", func(c map[string]any) { c["type"], c["status"] = "Failed", "True" }))
	}
}

// TestKatibPods: the labels match the one pod whose container reports metrics; the job in the experiment has that container.
func TestKatibPods(t *testing.T) {
	for _, s := range jobsIn(t, "running") {
		if notOfKatib(s) {
			continue
		}
		template := experiments(t)[s.apiVersion+" "+s.kind].Spec.TrialTemplate
		var found []string
		for _, pod := range s.pods {
			labels, matches := mapAt(pod, "metadata", "labels"), len(template.PrimaryPodLabels) > 0
			for label, value := range template.PrimaryPodLabels {
				matches = matches && labels[label] == value
			}
			if !matches {
				continue
			}
			found = append(found, textAt(mapAt(pod, "metadata"), "name"))
			owners, _ := mapAt(pod, "metadata")["ownerReferences"].([]any)
			if owner, _ := owners[0].(map[string]any); textAt(owner, "kind") != s.kind || textAt(owner, "apiVersion") != s.apiVersion || textAt(owner, "name") != "pi" {
				t.Errorf("%s: the pod is owned by %v", s, owner)
			}
		}
		if len(found) != 1 {
			t.Errorf("%s: %v have the labels %v", s, found, template.PrimaryPodLabels)
		}
		containers := 0
		eachTemplate(map[string]any{"spec": template.TrialSpec["spec"]}, func(pod map[string]any) {
			for _, c := range mapAt(pod, "spec")["containers"].([]any) {
				if textAt(c.(map[string]any), "name") == template.PrimaryContainerName {
					containers++
				}
			}
		})
		if containers == 0 {
			t.Errorf("%s: the job has no container %s", s, template.PrimaryContainerName)
		}
	}
}

// TestKatibResources: Katib is configured to watch each kind with an experiment, as Kind.version.group.
func TestKatibResources(t *testing.T) {
	var config struct {
		APIVersion string `json:"apiVersion"`
		Kind       string `json:"kind"`
		Init       struct {
			Controller struct {
				TrialResources []string `json:"trialResources"`
			} `json:"controller"`
		} `json:"init"`
	}
	configuration(t, &config, "katib", "katib-config.yaml")
	want := []string{"Job.v1.batch"}
	for key := range experiments(t) {
		apiVersion, kind, _ := strings.Cut(key, " ")
		group, version, _ := strings.Cut(apiVersion, "/")
		want = append(want, kind+"."+version+"."+group)
	}
	got := slices.Clone(config.Init.Controller.TrialResources)
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	if len(want) < 7 {
		t.Errorf("%d kinds", len(want))
	}
}
