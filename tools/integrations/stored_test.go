package integrations

import (
	"fmt"
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

var (
	root         = filepath.Join("..", "..")
	integrations = filepath.Join(root, "deploy", "integrations")
)

// stored holds the stored objects of one job.
type stored struct {
	kind, apiVersion string
	state            string
	object           map[string]any
	pods             []map[string]any // of the state "running"
}

func (s stored) String() string { return s.apiVersion + " " + s.kind + ", " + s.state }

// is reports whether the job has this kind and version: some programs support only one version of MPIJob.
func (s stored) is(kind, apiVersion string) bool { return s.kind == kind && s.apiVersion == apiVersion }

func (s stored) spec() map[string]any { return mapAt(s.object, "spec") }

func (s stored) status() map[string]any { return mapAt(s.object, "status") }

// condition is a condition of the status.
type condition struct {
	Type, Status, Reason, Message, LastTransitionTime string
}

func (s stored) conditions() (all []condition) {
	list, _ := s.status()["conditions"].([]any)
	for _, c := range list {
		m, _ := c.(map[string]any)
		all = append(all, condition{textAt(m, "type"), textAt(m, "status"), textAt(m, "reason"), textAt(m, "message"), textAt(m, "lastTransitionTime")})
	}
	return all
}

// isTrue reports whether the job has the condition with status True.
func (s stored) isTrue(of string) bool {
	return slices.ContainsFunc(s.conditions(), func(c condition) bool { return c.Type == of && c.Status == "True" })
}

// with returns a copy of the job to which change was applied.
func (s stored) with(change func(object map[string]any)) stored {
	s.object = (&unstructured.Unstructured{Object: s.object}).DeepCopy().Object
	change(s.object)
	return s
}

// withCondition returns the job with one condition changed.
func (s stored) withCondition(t *testing.T, of string, change func(condition map[string]any)) stored {
	t.Helper()
	changed := 0
	s = s.with(func(object map[string]any) {
		list, _ := mapAt(object, "status")["conditions"].([]any)
		for _, c := range list {
			if m, _ := c.(map[string]any); textAt(m, "type") == of {
				change(m)
				changed++
			}
		}
	})
	if changed != 1 {
		t.Fatalf("%s has %d conditions %s", s, changed, of)
	}
	return s
}

func mapAt(of map[string]any, path ...string) map[string]any {
	for _, field := range path {
		of, _ = of[field].(map[string]any)
	}
	return of
}

func textAt(of map[string]any, field string) string {
	text, _ := of[field].(string)
	return text
}

// jobs returns those of all kinds in all states.
func jobs(t *testing.T) (all []stored) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(root, "test", "fixtures", "states", "*.txtar"))
	if err != nil || len(files) < 7 {
		t.Fatalf("%d files of states: %v", len(files), err)
	}
	for _, file := range files {
		archive, err := txtar.ParseFile(file)
		if err != nil {
			t.Fatal(err)
		}
		documents := map[string]map[string]any{}
		for _, f := range archive.Files {
			documents[strings.TrimSuffix(f.Name, ".yaml")] = parsed(t, file+" "+f.Name, f.Data)
		}
		for state, object := range documents {
			if state == "running-pods" {
				continue
			}
			s := stored{kind: textAt(object, "kind"), apiVersion: textAt(object, "apiVersion"), state: state, object: object}
			if state == "running" {
				items, _ := documents["running-pods"]["items"].([]any)
				for _, item := range items {
					s.pods = append(s.pods, item.(map[string]any))
				}
			}
			all = append(all, s)
		}
	}
	slices.SortFunc(all, func(a, b stored) int { return strings.Compare(a.String(), b.String()) })
	return all
}

// jobsIn returns the jobs of all kinds in one state.
func jobsIn(t *testing.T, state string) (found []stored) {
	t.Helper()
	for _, s := range jobs(t) {
		if s.state == state {
			found = append(found, s)
		}
	}
	if len(found) < 7 {
		t.Fatalf("%d jobs in state %s", len(found), state)
	}
	return found
}

func parsed(t *testing.T, from string, text []byte) map[string]any {
	t.Helper()
	raw, err := yaml.YAMLToJSON(text)
	if err != nil {
		t.Fatalf("%s: %v", from, err)
	}
	object := map[string]any{}
	if err := utiljson.Unmarshal(raw, &object); err != nil {
		t.Fatalf("%s: %v", from, err)
	}
	return object
}

// configuration reads a file of deploy/integrations into a value. A field that the value lacks is an error, so that no field is left
// unchecked.
func configuration(t *testing.T, into any, path ...string) {
	t.Helper()
	file := filepath.Join(append([]string{integrations}, path...)...)
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := yaml.UnmarshalStrict(text, into); err != nil {
		t.Fatalf("%s: %v", file, err)
	}
}

// hold checks what a rule says of each state, for each kind that it is for. CRDs of training-operator 1.9 drop status.observedGeneration;
// the rule must say the same without it, except for a generation that was not observed.
func hold(t *testing.T, want map[string]string, rule func(stored) string, not ...func(stored) bool) {
	t.Helper()
	unused := map[string]bool{}
	for state := range want {
		unused[state] = true
	}
	for _, s := range jobs(t) {
		if slices.ContainsFunc(not, func(not func(stored) bool) bool { return not(s) }) {
			continue
		}
		expected, known := want[s.state]
		if !known {
			t.Errorf("what is to be said of %s?", s)
			continue
		}
		delete(unused, s.state)
		if got := rule(s); got != expected {
			t.Errorf("%s: %s, want %s", s, got, expected)
		}
		if s.state == "unobserved" {
			expected = want["running"]
		}
		pruned := s.with(func(object map[string]any) { delete(mapAt(object, "status"), "observedGeneration") })
		if got := rule(pruned); got != expected {
			t.Errorf("%s, without observedGeneration: %s, want %s", s, got, expected)
		}
	}
	if len(unused) > 0 {
		t.Errorf("no job is in state %v", unused)
	}
}

// mustDiffer checks that a rule distinguishes a wrong status from the right one.
func mustDiffer(t *testing.T, rule func(stored) string, right, wrong stored) {
	t.Helper()
	if r, w := rule(right), rule(wrong); r == w {
		t.Errorf("%s: %s is said of the right status, and of the wrong one", right, r)
	}
}

func sprint(err error) string { return fmt.Sprint("error: ", err) }
