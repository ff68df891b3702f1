package operator

import (
	"fmt"
	"maps"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	engine "stoic/convert"
	"stoic/schema"
	"stoic/training"
	"stoic/training/kinds"
	"stoic/training/plan"
)

// jobWith is a TFJob with further fields in its container and in the spec of its pods.
func jobWith(container, pod map[string]any) *unstructured.Unstructured {
	c := map[string]any{"name": "tensorflow", "image": "tf"}
	maps.Copy(c, container)
	spec := map[string]any{"containers": []any{c}}
	maps.Copy(spec, pod)
	return &unstructured.Unstructured{Object: map[string]any{"apiVersion": "kubeflow.org/v1", "kind": "TFJob",
		"metadata": map[string]any{"name": "mnist", "namespace": "team-a", "uid": "u", "generation": int64(1)},
		"spec":     map[string]any{"tfReplicaSpecs": map[string]any{"Worker": map[string]any{"template": map[string]any{"spec": spec}}}}}}
}

// TestRestartPolicyBehindManyWarnings: the event that clients of 1.9 know is planned, even if many warnings about other
// fields precede the restart policy.
func TestRestartPolicyBehindManyWarnings(t *testing.T) {
	for _, n := range []int{0, schema.MaxReported, 150} {
		unknown := map[string]any{}
		for i := range n {
			unknown[fmt.Sprint("bananas", i)] = true
		}
		r := Convert(kinds.TFJob(), jobWith(unknown, map[string]any{"restartPolicy": "Always"})).Brief()
		found := 0
		for _, e := range decided(r).Events {
			if e.Reason == training.ReasonPodRestartPolicy {
				found++
				if e.FieldPath != "spec.tfReplicaSpecs.Worker.template.spec.restartPolicy" {
					t.Errorf("behind %d warnings: of %q", n, e.FieldPath)
				}
			}
		}
		if found != 1 {
			t.Errorf("behind %d warnings: %d events", n, found)
		}
	}
}

// decided returns the plan for a job without children.
func decided(r *engine.Result) schema.Plan {
	return plan.Decide(schema.Observed{Head: r.Head, Object: r.Object, Rejection: r.Rejection, Now: time.Unix(1767225600, 0), KeepsGeneration: true})
}

// TestBriefDecidesTheSame: for a job with many problems the cache holds the first few and a count, also in its head. No
// plan depends on the others.
func TestBriefDecidesTheSame(t *testing.T) {
	unknown, wrong := map[string]any{}, make([]any, 150)
	for i := range wrong {
		unknown[fmt.Sprint("bananas", i)] = true
		wrong[i] = int64(i)
	}
	for name, job := range map[string]*unstructured.Unstructured{
		"problems":                 jobWith(map[string]any{"args": wrong}, nil),
		"warnings":                 jobWith(unknown, nil),
		"problems beside warnings": jobWith(unknown, map[string]any{"hostNetwork": "yes"}),
	} {
		whole, brief := Convert(kinds.TFJob(), job), Convert(kinds.TFJob(), job).Brief()
		own := brief.Own.(*training.Head)
		if len(own.Warnings) > schema.MaxReported || len(own.Warnings)+own.MoreWarnings != len(whole.Warnings) {
			t.Errorf("%s: of %d warnings %d are kept and %d counted", name, len(whole.Warnings), len(own.Warnings), own.MoreWarnings)
		}
		want := decided(whole)
		if len(want.Events) == 0 {
			t.Errorf("%s: no events", name)
		}
		if diff := cmp.Diff(want, decided(brief)); diff != "" {
			t.Errorf("%s: -whole +brief\n%s", name, diff)
		}
	}
}
