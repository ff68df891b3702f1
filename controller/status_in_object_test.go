package controller

import (
	"slices"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"stoic/schema"
	"stoic/test/faults/apimodel"
)

// statusless serves gatherers, whose CRD has no status subresource, and stores one.
func statusless(t *testing.T, decide func(*gatherer, Observed) Plan) (s *apiServer, w Watch) {
	t.Helper()
	s = newAPIServer(t)
	s.locked(func() {
		s.Serve(apimodel.Resource{Group: "example.com", Version: "v1", Plural: "gatherers", Kind: "Gatherer", Namespaced: true})
		s.store(gatherersPath+"a", map[string]any{"apiVersion": "example.com/v1", "kind": "Gatherer", "spec": map[string]any{"gathers": "x"},
			"metadata": map[string]any{"name": "a", "namespace": "ns", "uid": "u"}})
	})
	w = Typed(gathererResource("Gatherer"), decide, []*Owned{{Resource: schema.Pods()}})
	w.StatusInObject = true
	return s, w
}

// TestSpecChangedWithAStatusInObject: if the status is written through the object itself, an admission webhook may change the spec on the
// way, and the generation is the same as without that. The decision is made again on the changed spec.
func TestSpecChangedWithAStatusInObject(t *testing.T) {
	for _, annotates := range []bool{false, true} { // a second write of the same plan
		s, w := statusless(t, func(g *gatherer, _ Observed) (p Plan) {
			p.Status = &gathererStatus{Pods: []string{g.Spec.Gathers}}
			if annotates && g.Annotations["gathers"] != g.Spec.Gathers {
				p.Annotate = &schema.Annotate{Values: map[string]string{"gathers": g.Spec.Gathers}}
			}
			return p
		})
		s.Admit(func(plural string, o map[string]any) {
			if spec, _ := o["spec"].(map[string]any); plural == "gatherers" && spec != nil {
				spec["gathers"] = "y"
			}
		})
		start(t, newTestController(t, s, func(o *Options) { o.Watches = []Watch{w} }))
		eventually(t, "the status of the spec as it is now", func() (ok bool) {
			s.locked(func() {
				ok = cmp.Equal(apimodel.Get(s.At(gatherersPath+"a"), "status", "pods"), []any{"y"}) &&
					(!annotates || apimodel.Get(s.At(gatherersPath+"a"), "metadata", "annotations", "gathers") == "y")
			})
			return ok
		})
		if n, want := s.count("PATCH gatherers"), map[bool]int{false: 2, true: 4}[annotates]; n != want {
			t.Errorf("%d writes, want %d", n, want)
		}
	}
}

// TestPlanBehindAStatusInObject: the generation that our own write of the status has raised is not a webhook's change. The same plan then
// writes annotations, counts what is on record, and creates.
func TestPlanBehindAStatusInObject(t *testing.T) {
	s, w := statusless(t, func(g *gatherer, o Observed) (p Plan) {
		if len(g.Status.Pods) == 0 {
			p.Status, p.Annotate = &gathererStatus{Pods: []string{"p"}}, &schema.Annotate{Values: map[string]string{"done": "yes"}}
			p.Count = []schema.Count{{Counter: "annotated", After: schema.AfterAnnotations}}
			p.Create = []schema.Object{schema.PodOf(o.Head, "p", nil, []byte(`{"spec":{}}`))}
		}
		return p
	})
	var counted atomic.Int64
	w.Count = func(_ *schema.Head, c schema.Count) { counted.Add(1) }
	c := newTestController(t, s, func(o *Options) { o.Watches = []Watch{w} })
	start(t, c)
	eventually(t, "the annotation", func() bool { return s.count("PATCH gatherers") == 2 })
	eventually(t, "rest", func() bool { return c.watchers[0].queue.Len() == 0 && c.watchers[0].idle() })
	if pods := s.names("pods"); !slices.Equal(pods, []string{"p"}) || counted.Load() != 1 {
		t.Errorf("pods %v, counted %d times, want one of each", pods, counted.Load())
	}
}
