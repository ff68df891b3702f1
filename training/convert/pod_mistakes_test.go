package convert

import (
	"maps"
	"os"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"stoic/training/kinds"
)

// TestPodMistakes: a job is rejected for each mistake in its pods, and for nothing that only looks like one. The test of this name in
// test/integration holds the same file to an API server.
func TestPodMistakes(t *testing.T) {
	text, err := os.ReadFile("../../test/integration/testdata/pod-mistakes.yaml")
	if err != nil {
		t.Fatal(err)
	}
	type podCase struct {
		What                      string
		Spec, Metadata, Container map[string]any
	}
	var cases struct{ Mistakes, Right []podCase }
	if err := yaml.UnmarshalStrict(text, &cases); err != nil {
		t.Fatal(err)
	}
	rejected := func(c podCase) bool {
		container := map[string]any{"name": "pytorch", "image": "x"}
		maps.Copy(container, c.Container)
		spec := map[string]any{"containers": []any{container}}
		maps.Copy(spec, c.Spec)
		template := map[string]any{"metadata": c.Metadata, "spec": spec}
		return Object(kinds.PyTorchJob(), &unstructured.Unstructured{Object: map[string]any{"apiVersion": "kubeflow.org/v1", "kind": "PyTorchJob", "metadata": map[string]any{"name": "a"},
			"spec": map[string]any{"pytorchReplicaSpecs": map[string]any{"Worker": map[string]any{"template": template}}}}}).Rejection != nil
	}
	for _, c := range cases.Mistakes {
		if !rejected(c) {
			t.Errorf("%s: it is accepted", c.What)
		}
	}
	for _, c := range cases.Right {
		if rejected(c) {
			t.Errorf("%s: it is rejected", c.What)
		}
	}
}
