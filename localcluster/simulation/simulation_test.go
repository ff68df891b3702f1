package simulation

import (
	"bytes"
	"encoding/json"
	"regexp"
	"strings"
	"testing"
	"text/template"

	"sigs.k8s.io/yaml"
)

type stage struct {
	Metadata struct{ Name string }
	Spec     struct {
		ResourceRef struct{ Kind string }
		Steps       []struct {
			Patch  *struct{ Subresource, Root, Template string }
			Delete bool
		}
	}
}

func readStages(t *testing.T) []stage {
	t.Helper()
	var all []stage
	for _, document := range bytes.Split(Stages(), []byte("\n---\n")) {
		var s stage
		if err := yaml.Unmarshal(document, &s); err != nil {
			t.Fatalf("%v in\n%s", err, document)
		}
		all = append(all, s)
	}
	return all
}

func TestStagesTouchOnlyThePodTheyWereMadeFor(t *testing.T) {
	pods := 0
	for _, s := range readStages(t) {
		if s.Spec.ResourceRef.Kind != "Pod" {
			continue
		}
		pods++
		first := s.Spec.Steps[0].Patch
		if first == nil {
			t.Errorf("%s: the first step is not a patch, which would find out that the pod is another", s.Metadata.Name)
			continue
		}
		for _, field := range []string{"metadata:\n  uid: ", "\n  resourceVersion: "} {
			if !strings.Contains(first.Template, field) || first.Root != "" || first.Subresource != "status" {
				t.Errorf("%s: the patch does not say which pod it is for (%q)", s.Metadata.Name, field)
			}
		}
	}
	if pods != 4 {
		t.Errorf("%d stages of pods, want start, finish, restart and delete", pods)
	}
}

// TestTemplatesParse finds misspelled actions without kwok. The functions are
// stand-ins: only their names matter.
func TestTemplatesParse(t *testing.T) {
	functions := template.FuncMap{}
	for _, name := range strings.Fields("Now Quote NodeIPsWith PodIPsWith add1 atoi date dateModify dict dig list merge now omit regexMatch ternary toJson") {
		functions[name] = func(...any) string { return "" }
	}
	for _, s := range readStages(t) {
		for _, step := range s.Spec.Steps {
			if step.Patch == nil {
				continue
			}
			if _, err := template.New(s.Metadata.Name).Funcs(functions).Parse(step.Patch.Template); err != nil {
				t.Error(err)
			}
		}
	}
}

func TestEveryAnnotationIsDocumented(t *testing.T) {
	documented := "exit-code run-for restarts terminate-after"
	for _, found := range regexp.MustCompile(`annotations[^"\n]*"simulation\.stoic/([a-z-]+)"`).FindAllSubmatch(Stages(), -1) {
		if !strings.Contains(documented, string(found[1])) {
			t.Errorf("the annotation %s is not in doc.go", found[1])
		}
	}
}

func TestNodesDiffer(t *testing.T) {
	seen := map[string]bool{}
	for number := range 2000 {
		content, err := json.Marshal(Node(number, "v1"))
		if err != nil {
			t.Fatal(err)
		}
		var node struct {
			Metadata struct{ Name string }
			Status   struct{ Addresses []struct{ Address string } }
		}
		if err := json.Unmarshal(content, &node); err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{node.Metadata.Name, node.Status.Addresses[0].Address} {
			if seen[name] {
				t.Fatalf("node %d has the name or address %s of another", number, name)
			}
			seen[name] = true
		}
	}
}

// TestDeletionsFollowTheirMark: the folder kubelet takes the UID of a deletion from the patch that has the condition.
func TestDeletionsFollowTheirMark(t *testing.T) {
	found := 0
	for _, s := range readStages(t) {
		for i, step := range s.Spec.Steps {
			if !step.Delete {
				continue
			}
			found++
			if i == 0 || s.Spec.Steps[i-1].Patch == nil || !strings.Contains(s.Spec.Steps[i-1].Patch.Template, "type: "+DeletedCondition+",") {
				t.Errorf("%s deletes without a patch before that has the condition %s", s.Metadata.Name, DeletedCondition)
			}
		}
	}
	if found != 1 {
		t.Errorf("%d deletions in all stages, want 1", found)
	}
}
