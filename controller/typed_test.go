package controller

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"stoic/schema"
)

type gizmo struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`
	Spec              struct {
		Size string `json:"size,omitempty"`
	} `json:"spec"`
}

// TestTypedTellsOfWarnings: an operator that says nothing of a field that it does not know leaves nobody without a word.
func TestTypedTellsOfWarnings(t *testing.T) {
	w := Typed(schema.Resource{Group: "example.org", Version: "v1", Plural: "gizmos", Kind: "Gizmo"}, func(g *gizmo, _ Observed) Plan {
		return Plan{Rule: "Do", Events: []schema.Event{{Reason: "Done", Message: g.Spec.Size}}}
	}, nil)
	plan := func(spec map[string]any) Plan {
		now := time.Now()
		r := w.Convert(&unstructured.Unstructured{Object: map[string]any{"apiVersion": "example.org/v1", "kind": "Gizmo",
			"metadata": map[string]any{"name": "g", "namespace": "n", "generation": int64(1), "creationTimestamp": now.UTC().Format(time.RFC3339)}, "spec": spec}})
		return w.Decide(Observed{Head: r.Head, Object: r.Object, Rejection: r.Rejection, Now: now})
	}
	if got := plan(map[string]any{"size": "S"}).Events; len(got) != 1 {
		t.Errorf("of one that is sound: %v", got)
	}
	got := plan(map[string]any{"size": "S", "siz": "M"}).Events
	if len(got) != 2 || got[0].Reason != "Done" || got[1].Reason != "UnknownField" || got[1].FieldPath != "spec.siz" {
		t.Errorf("of one with an unknown field: %v", got)
	}
}
