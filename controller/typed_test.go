package controller

import (
	"cmp"
	"fmt"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"stoic/schema"
)

type widget struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`
	Spec              struct{}     `json:"spec,omitempty"`
	Status            widgetStatus `json:"status,omitempty"`
}

type widgetStatus struct {
	Parts []string `json:"parts,omitempty"`
}

// TestTypedStatus: a status is planned only if it says something new.
func TestTypedStatus(t *testing.T) {
	r := schema.Resource{Group: "g", Version: "v1", Plural: "widgets", Kind: "Widget"}
	for name, test := range map[string]struct {
		was    any
		now    *widgetStatus
		writes bool
	}{
		"the same":             {map[string]any{"parts": []any{"a"}}, &widgetStatus{Parts: []string{"a"}}, false},
		"another":              {map[string]any{"parts": []any{"a"}}, &widgetStatus{Parts: []string{"b"}}, true},
		"none before, nothing": {nil, &widgetStatus{}, false},
		"an empty list":        {nil, &widgetStatus{Parts: []string{}}, false},
		"none before":          {nil, &widgetStatus{Parts: []string{"b"}}, true},
		"wiped":                {map[string]any{"parts": []any{"a"}}, &widgetStatus{}, true},
		"another type":         {map[string]any{"parts": "a"}, &widgetStatus{}, true},
		"an item of another":   {map[string]any{"parts": []any{int64(1)}}, &widgetStatus{}, true},
		"a status of another":  {"a", &widgetStatus{}, true},
		"an unknown field":     {map[string]any{"part": "a"}, &widgetStatus{}, false},
	} {
		w := Typed(r, func(*widget, Observed) Plan { return Plan{Status: test.now} }, nil)
		u := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "g/v1", "kind": "Widget", "metadata": map[string]any{"name": "a"}, "status": test.was}}
		result := w.Convert(u)
		if plan := w.Decide(Observed{Head: result.Head, Object: result.Object}); (plan.Status != nil) != test.writes {
			t.Errorf("%s: plans %v", name, plan.Status)
		}
	}
	none := Typed(r, func(*widget, Observed) Plan { return Plan{} }, nil)
	if plan := none.Decide(Observed{Head: &schema.Head{Status: &widgetStatus{}}}); plan.Status != nil {
		t.Errorf("no status is planned, and found %v", plan.Status)
	}
}

// TestTypedStatusOfTheAuthor: a nil status is no status, and an unusable one ends the reconcile. Neither wipes the record, and an
// unusable one is never ignored.
func TestTypedStatusOfTheAuthor(t *testing.T) {
	r := schema.Resource{Group: "g", Version: "v1", Plural: "widgets", Kind: "Widget"}
	recorded := &widgetStatus{Parts: []string{"a"}}
	for name, test := range map[string]struct {
		status any
		panics string
	}{
		"a nil pointer":      {(*widgetStatus)(nil), ""},
		"a value":            {widgetStatus{}, "the plan for a Widget has a status of type controller.widgetStatus, must be *controller.widgetStatus"},
		"of another type":    {&gathererStatus{}, "the plan for a Widget has a status of type *controller.gathererStatus, must be *controller.widgetStatus"},
		"what the cache has": {recorded, "the plan for a Widget has the status that was observed, which is the cache's: plan a copy"},
	} {
		w := Typed(r, func(*widget, Observed) Plan { return Plan{Status: test.status} }, nil)
		plan, cause := func() (plan Plan, cause any) {
			defer func() { cause = recover() }()
			return w.Decide(Observed{Head: &schema.Head{Status: recorded}, Object: &widget{}}), nil
		}()
		if plan.Status != nil || fmt.Sprint(cause) != cmp.Or(test.panics, "<nil>") {
			t.Errorf("%s: plans %v, panics with %v", name, plan.Status, cause)
		}
	}
}

type gizmo struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`
	Spec              struct {
		Size string `json:"size,omitempty"`
	} `json:"spec"`
}

// TestTypedTellsOfWarnings: a warning about an unknown field becomes an event, even if the operator does not handle it.
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
