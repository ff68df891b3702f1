package integrations

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/itchyny/gojq"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

// TestPods checks what programs need to find the pods of a job: Kueue and the Python SDK by the number of each replica type that Kueue
// reserves quota for, Katib the one pod that reports metrics. The labels are those of the contract.
func TestPods(t *testing.T) {
	for _, j := range jobsIn(t, "running") {
		count := map[string]int{}
		for _, pod := range j.pods {
			count[strings.Split(strings.TrimPrefix(pod.GetName(), "pi-"), "-")[0]]++
		}
		want := map[string]int{}
		for name, spec := range j.replicaSpecs() {
			replicas, found, _ := unstructured.NestedInt64(spec.(map[string]any), "replicas")
			if !found {
				replicas = 1
			}
			want[strings.ToLower(name)] = int(replicas)
		}
		if diff := cmp.Diff(want, count); diff != "" {
			t.Errorf("%s: pods by replica type (-reserved +created):\n%s", j, diff)
		}
	}
	for _, template := range trialTemplates(t) {
		for _, j := range jobsIn(t, "running") {
			matches := func(pod unstructured.Unstructured) bool {
				return !slices.ContainsFunc(slices.Collect(maps.Keys(template.PrimaryPodLabels)), func(label string) bool {
					return pod.GetLabels()[label] != template.PrimaryPodLabels[label]
				})
			}
			if !j.isKind(template.TrialSpec.APIVersion, template.TrialSpec.Kind) {
				continue
			}
			if found := len(slices.DeleteFunc(slices.Clone(j.pods), func(pod unstructured.Unstructured) bool { return !matches(pod) })); found != 1 {
				t.Errorf("%s: %d pods have the labels %v of Katib", j, found, template.PrimaryPodLabels)
			}
		}
	}
}

func firstContainer(object map[string]any, path ...string) map[string]any {
	containers, _, _ := unstructured.NestedFieldNoCopy(object, append(path, "containers")...)
	return containers.([]any)[0].(map[string]any)
}

// TestStateMetricsPaths checks that each path of the configuration of kube-state-metrics leads to a value in a job that runs.
func TestStateMetricsPaths(t *testing.T) {
	type stateResource struct {
		GroupVersionKind struct{ Kind string }
		LabelsFromPath   map[string][]string
		Metrics          []struct {
			Name string
			Each struct {
				Gauge struct {
					Path, ValueFrom []string
					LabelsFromPath  map[string][]string
					NilIsZero       bool
				}
			}
		}
	}
	var configuration struct {
		Spec struct{ Resources []stateResource }
	}
	convertInto(t, readConfiguration(t, "kube-state-metrics/config.yaml")[0], &configuration)
	resources := map[string]stateResource{}
	for _, resource := range configuration.Spec.Resources {
		resources[resource.GroupVersionKind.Kind] = resource
	}
	mustLead := func(j job, from any, path []string) any {
		t.Helper()
		fields, _ := from.(map[string]any)
		value, found, err := unstructured.NestedFieldNoCopy(fields, path...)
		if !found || err != nil {
			t.Errorf("%s: nothing at %v (%v)", j, path, err)
		}
		return value
	}
	for _, j := range jobsIn(t, "running") {
		resource := resources[j.GetKind()]
		if len(resource.Metrics) < 5 {
			t.Errorf("%s: %d metrics", j, len(resource.Metrics))
		}
		for _, path := range resource.LabelsFromPath {
			mustLead(j, j.Object, path)
		}
		for _, metric := range resource.Metrics {
			gauge := metric.Each.Gauge
			var elements []any
			switch at := mustLead(j, j.Object, gauge.Path).(type) {
			case []any:
				elements = at
			case map[string]any:
				elements = slices.Collect(maps.Values(at))
			}
			for _, element := range elements {
				if !gauge.NilIsZero {
					mustLead(j, element, gauge.ValueFrom)
				}
				for _, path := range gauge.LabelsFromPath {
					mustLead(j, element, path)
				}
			}
		}
	}
}

// TestArgoCDDifferences checks that Argo CD ignores what Kueue and an autoscaler write to a job, and nothing that a user writes.
func TestArgoCDDifferences(t *testing.T) {
	rules, _, err := unstructured.NestedStringMap(readConfiguration(t, "argocd/differences/argocd-cm.yaml")[0].Object, "data")
	if err != nil {
		t.Fatal(err)
	}
	worker := func(object map[string]any) map[string]any {
		return job{Unstructured: &unstructured.Unstructured{Object: object}}.replicaSpecs()["Worker"].(map[string]any)
	}
	changes := map[string]struct {
		change  func(object map[string]any) error
		ignored bool
	}{
		"resumed": {func(object map[string]any) error {
			return unstructured.SetNestedField(object, false, "spec", "runPolicy", "suspend")
		}, true},
		"placed": {func(object map[string]any) error {
			return unstructured.SetNestedField(worker(object), "a100", "template", "spec", "nodeSelector", "pool")
		}, true},
		"scaled": {func(object map[string]any) error {
			return unstructured.SetNestedField(worker(object), int64(7), "replicas")
		}, true},
		"another policy": {func(object map[string]any) error {
			return unstructured.SetNestedField(object, "All", "spec", "runPolicy", "cleanPodPolicy")
		}, false},
		"another image": {func(object map[string]any) error {
			return unstructured.SetNestedField(firstContainer(worker(object), "template", "spec"), "other", "image")
		}, false},
	}
	for _, j := range jobsIn(t, "running") {
		var ignored struct{ JSONPointers, JQPathExpressions []string }
		text := rules["resource.customizations.ignoreDifferences.kubeflow.org_"+j.GetKind()]
		if err := yaml.Unmarshal([]byte(text), &ignored); err != nil || len(ignored.JSONPointers) == 0 {
			t.Fatalf("%s: %v in %s", j, err, text)
		}
		paths := ignored.JQPathExpressions
		for _, pointer := range ignored.JSONPointers {
			paths = append(paths, strings.ReplaceAll(pointer, "/", "."))
		}
		inGit := j.changed(func(object map[string]any) {
			object["spec"].(map[string]any)["runPolicy"] = map[string]any{"suspend": true, "cleanPodPolicy": "None"}
		})
		for name, c := range changes {
			live := inGit.changed(func(object map[string]any) {
				if err := c.change(object); err != nil {
					t.Fatalf("%s, %s: %v", j, name, err)
				}
			})
			diff := cmp.Diff(withoutPaths(t, inGit, paths), withoutPaths(t, live, paths))
			if (diff == "") != c.ignored {
				t.Errorf("%s, %s: ignored is %v\n%s", j, name, !c.ignored, diff)
			}
		}
	}
}

// withoutPaths returns a job without what the jq expressions lead to.
func withoutPaths(t *testing.T, j job, paths []string) any {
	t.Helper()
	var value any
	if err := yaml.Unmarshal(encode(j), &value); err != nil { // gojq knows no int64
		t.Fatal(err)
	}
	for _, path := range paths {
		query, err := gojq.Parse(fmt.Sprintf("delpaths([path(%s)])", path))
		if err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		result, _ := query.Run(value).Next()
		if err, failed := result.(error); failed {
			t.Fatalf("%s: %v", path, err)
		}
		value = result
	}
	return value
}
