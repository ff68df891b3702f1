package integrations

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/yaml"
)

// job is a stored job of one kind in one state.
type job struct {
	*unstructured.Unstructured
	state string
	pods  []unstructured.Unstructured // only in the state "running"
}

func (j job) String() string { return j.GetAPIVersion() + " " + j.GetKind() + ", " + j.state }

func (j job) isKind(apiVersion, kind string) bool {
	return j.GetAPIVersion() == apiVersion && j.GetKind() == kind
}

// condition is a condition of the status, with the fields that programs read.
type condition struct{ Type, Status, Message string }

func (j job) conditions() []condition {
	list, _, _ := unstructured.NestedSlice(j.Object, "status", "conditions")
	var all []condition
	for _, item := range list {
		fields, _ := item.(map[string]any)
		text := func(field string) string {
			value, _ := fields[field].(string)
			return value
		}
		all = append(all, condition{text("type"), text("status"), text("message")})
	}
	return all
}

func (j job) isTrue(conditionType string) bool {
	return slices.ContainsFunc(j.conditions(), func(c condition) bool { return c.Type == conditionType && c.Status == "True" })
}

// changed returns a copy of the job to which change was applied.
func (j job) changed(change func(object map[string]any)) job {
	j.Unstructured = j.DeepCopy()
	change(j.Object)
	return j
}

// replicaSpecs returns the replica types of a job by name.
func (j job) replicaSpecs() map[string]any {
	for field, value := range j.Object["spec"].(map[string]any) {
		if strings.HasSuffix(field, "ReplicaSpecs") {
			return value.(map[string]any)
		}
	}
	return nil
}

// readJobs returns the jobs of all kinds in all states.
func readJobs(t *testing.T) []job {
	t.Helper()
	files, err := filepath.Glob("../../test/fixtures/states/*.txtar")
	if err != nil || len(files) < 7 {
		t.Fatalf("%d files of states: %v", len(files), err)
	}
	var all []job
	for _, file := range files {
		archive, err := txtar.ParseFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var pods []unstructured.Unstructured
		first := len(all)
		for _, document := range archive.Files {
			object := parseObject(t, document.Data)
			state := strings.TrimSuffix(document.Name, ".yaml")
			if state != "running-pods" {
				all = append(all, job{Unstructured: object, state: state})
				continue
			}
			list, err := object.ToList()
			if err != nil {
				t.Fatal(err)
			}
			pods = list.Items
		}
		for i := range all[first:] {
			if all[first+i].state == "running" {
				all[first+i].pods = pods
			}
		}
	}
	return all
}

// jobsIn returns the jobs of all kinds in one state.
func jobsIn(t *testing.T, state string) []job {
	t.Helper()
	found := slices.DeleteFunc(readJobs(t), func(j job) bool { return j.state != state })
	if len(found) < 7 {
		t.Fatalf("%d jobs in state %s", len(found), state)
	}
	return found
}

func parseObject(t *testing.T, text []byte) *unstructured.Unstructured {
	t.Helper()
	encoded, err := yaml.YAMLToJSON(text)
	if err != nil {
		t.Fatal(err)
	}
	object := map[string]any{}
	if err := utiljson.Unmarshal(encoded, &object); err != nil {
		t.Fatal(err)
	}
	return &unstructured.Unstructured{Object: object}
}

// readConfiguration returns the documents of a file of deploy/integrations.
func readConfiguration(t *testing.T, path string) []*unstructured.Unstructured {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("../../deploy/integrations", path))
	if err != nil {
		t.Fatal(err)
	}
	var all []*unstructured.Unstructured
	for document := range strings.SplitSeq(string(text), "\n---\n") {
		if object := parseObject(t, []byte(document)); len(object.Object) > 0 {
			all = append(all, object)
		}
	}
	return all
}
