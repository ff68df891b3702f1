package apply

import (
	"errors"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"stoic/schema"
)

// TestRecord: the status is written at the version that it was computed from, and is returned as the server kept it.
func TestRecord(t *testing.T) {
	s := newAPIServer(t)
	a := newTestApplier(t, s, nil)
	s.put(widgetsPath+"a", nil)
	s.keeping(func(o map[string]any) {
		status := o["status"].(map[string]any)
		delete(status, "observedGeneration")
		delete(status, "startTime")
	})
	head, plan := s.head(t, "a"), schema.Plan{Status: statusAt(5, "A")}
	record := func(head *schema.Head, plan schema.Plan) (string, error) {
		at, err := a.record(t.Context(), &schema.Observed{Head: head}, plan)
		return at.version, err
	}
	version, err := record(head, plan)
	now := s.head(t, "a")
	if err != nil || version != now.Meta.ResourceVersion {
		t.Fatal(version, err)
	}
	if a.KeepsGeneration(head) {
		t.Error("the generation is taken for kept")
	}
	if !a.KeepsGeneration(&schema.Head{ObservedGeneration: 1}) {
		t.Error("an object that has a generation does not prove that it is kept")
	}
	if !a.Store.IsOwnEcho(head.Meta.UID, version) {
		t.Error("the version of our own write is not required")
	}
	if _, err := record(head, schema.Plan{Status: statusAt(6, "B")}); ClassOf(err) != Retry {
		t.Errorf("a status computed from an older version: %v", err)
	}
	s.requests()
	if version, err := record(now, plan); err != nil || version != now.Meta.ResourceVersion || len(s.requests()) > 0 {
		t.Errorf("what the server does not keep was written again: %v", err)
	}
	s.keeping(nil)
	if _, err := record(now, schema.Plan{Status: statusAt(6, "B")}); err != nil || !a.KeepsGeneration(now) {
		t.Errorf("error %v; the generation is taken for dropped", err)
	}
	if _, err := record(someHead(), plan); ClassOf(err) != Retry {
		t.Errorf("an object of another version: %v", err)
	}
	missing := someHead()
	missing.Meta.Name = "missing"
	if _, err := record(missing, plan); !errors.Is(err, errUnrecorded) {
		t.Errorf("an object that is gone: %v", err)
	}
}

// TestStatusWithoutGeneration: a status that has no observedGeneration shows nothing of what the API server keeps. After it the
// warnings of another object, whose spec was edited long after its creation, are still reported.
func TestStatusWithoutGeneration(t *testing.T) {
	without := statusAt(5, "A")
	without.ObservedGeneration = 0
	for _, keeps := range []bool{true, false} {
		s := newAPIServer(t)
		a := newTestApplier(t, s, nil)
		if !keeps {
			s.keeping(func(o map[string]any) { delete(o["status"].(map[string]any), "observedGeneration") })
		}
		edited := &schema.Head{Warnings: []schema.Problem{{Code: schema.UnknownField, Path: "spec.oops"}}}
		edited.Meta.Generation = 2
		edited.Meta.CreationTimestamp = metav1.NewTime(a.Now().Add(-24 * time.Hour))
		for _, step := range []struct {
			name   string
			status *widgetStatus
			want   bool
		}{{"none-yet", without, false}, {"with", statusAt(6, "B"), keeps}, {"without", without, keeps}} {
			s.put(widgetsPath+step.name, nil)
			if _, err := a.record(t.Context(), &schema.Observed{Head: s.head(t, step.name)}, schema.Plan{Status: step.status}); err != nil {
				t.Fatal(err)
			}
			if got := a.KeepsGeneration(edited); got != step.want {
				t.Errorf("the API server keeps the generation: %v; after the status %s it is taken to: %v", keeps, step.name, got)
			}
			seen := schema.Observed{Head: edited, Now: a.Now(), KeepsGeneration: a.KeepsGeneration(edited)}
			if events := schema.WarningEvents(seen); (len(events) > 0) != step.want {
				t.Errorf("the API server keeps the generation: %v; after the status %s there are %d events", keeps, step.name, len(events))
			}
		}
	}
}

// TestClusterScoped: an object without a namespace owns one of its own kind and a namespaced pod; each is written at its own path.
func TestClusterScoped(t *testing.T) {
	s := newAPIServer(t)
	a := newTestApplier(t, s, nil)
	wide := widgets()
	wide.Cluster = true
	s.serve(wide)
	const path = "/apis/example.org/v1/widgets/"
	meta := s.put(path+"a", nil)
	gone := s.put(path+"gone", nil)
	head := &schema.Head{Resource: wide, Meta: meta}
	plan := schema.Plan{AddFinalizers: []string{"x"}, Status: statusAt(1, "A"), Annotate: &schema.Annotate{Values: map[string]string{"a": "b"}},
		Delete: []schema.Deletion{{Resource: wide, Name: "gone", UID: gone.UID}},
		Create: []schema.Object{{Resource: schema.Pods(), Namespace: "ns", Name: "p", Body: []byte(`{"metadata":{"name":"p"}}`)},
			{Resource: wide, Name: "c", Body: bodyOf(wide, "c")}}}
	if _, err := a.Apply(t.Context(), &schema.Observed{Head: head}, plan); err != nil {
		t.Fatal(err)
	}
	stored := s.object(path + "a")["metadata"].(map[string]any)
	if stored["finalizers"] == nil || stored["annotations"] == nil || s.object(path + "a")["status"] == nil {
		t.Errorf("stored: %v", s.object(path+"a"))
	}
	if s.object(path+"gone") != nil || s.object(path+"c") == nil || s.object(podsPath+"p") == nil {
		t.Error("not all was written at its own path")
	}
}
