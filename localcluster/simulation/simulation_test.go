package simulation

import (
	"bytes"
	"strings"
	"testing"

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
