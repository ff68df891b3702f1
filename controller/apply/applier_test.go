package apply

import (
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"stoic/controller/consistency"
	"stoic/schema"
)

// everything returns a plan that has one of each, for a widget that has the finalizer "old" and depends on a pod and a gadget.
func everything(t *testing.T, s *apiServer, a *Applier) (*schema.Observed, schema.Plan) {
	t.Helper()
	s.put(widgetsPath+"a", map[string]any{"finalizers": []any{"old"}})
	pod, gadget := s.put(podsPath+"gone", nil), s.put(gadgetsPath+"g", nil)
	head := s.head(t, "a")
	a.Store.SetVerified(head.Meta.UID)
	return &schema.Observed{Head: head, Object: "widget"}, schema.Plan{
		Rule:          "everything",
		AddFinalizers: []string{"new"},
		Status:        statusAt(1, "A"),
		Annotate:      &schema.Annotate{Values: map[string]string{"done": "yes"}, Refused: schema.Event{Type: "Warning", Reason: "NotAnnotated", Message: "Not annotated: "}},
		Delete:        []schema.Deletion{{Resource: schema.Pods(), Namespace: "ns", Name: "gone", UID: pod.UID}},
		Patch: []schema.Patch{{Resource: gadgets(), Namespace: "ns", Name: "g", UID: gadget.UID, ResourceVersion: gadget.ResourceVersion,
			Body: schema.JSON(map[string]any{"metadata": map[string]any{"resourceVersion": gadget.ResourceVersion, "labels": map[string]any{"a": "b"}}})}},
		Create: []schema.Object{
			{Resource: schema.Pods(), Namespace: "ns", Name: "p", Body: []byte(`{"metadata":{"name":"p"}}`)},
			{Resource: gadgets(), Namespace: "ns", Name: "h", Body: bodyOf(gadgets(), "h")}},
		RemoveFinalizers: []string{"old"},
		Requeue:          time.Hour,
	}
}

const (
	addFinalizer    = "PATCH widgets a finalizers"
	writeStatus     = "PATCH widgets a status"
	annotate        = "PATCH widgets a annotations"
	deletePod       = "DELETE pods gone"
	patchGadget     = "PATCH gadgets g"
	createGadget    = "POST gadgets h"
	createPod       = "POST pods p"
	removeFinalizer = "PATCH widgets a finalizers "
)

// TestApplyOrder: the table of schema.Plan: which steps are done, in order, when a step fails.
func TestApplyOrder(t *testing.T) {
	all := []string{addFinalizer, writeStatus, annotate, deletePod, patchGadget, createGadget, createPod, removeFinalizer}
	but := func(left ...string) []string {
		return slices.DeleteFunc(slices.Clone(all), func(step string) bool { return slices.Contains(left, step) })
	}
	for name, c := range map[string]struct {
		fails      string
		code       int
		bestEffort bool
		want       []string
	}{
		"nothing fails":                      {want: all},
		"adding a finalizer":                 {fails: addFinalizer, code: 500, want: all[:1]},
		"adding is refused":                  {fails: addFinalizer, code: 422, want: all[:1]},
		"the status":                         {fails: writeStatus, code: 500, want: all[:2]},
		"the status is refused":              {fails: writeStatus, code: 422, want: all[:2]},
		"the annotations":                    {fails: annotate, code: 500, want: but(deletePod, removeFinalizer)},
		"the annotations, which are refused": {fails: annotate, code: 403, want: but(deletePod, removeFinalizer)},
		"the annotations, which are refused and not that important":          {fails: annotate, code: 403, bestEffort: true, want: all},
		"the annotations, as the object has changed":                         {fails: annotate, code: 409, bestEffort: true, want: all[:3]},
		"the annotations, as the object is gone":                             {fails: annotate, code: 404, bestEffort: true, want: all[:3]},
		"the annotations, which are not that important, only fail this time": {fails: annotate, code: 500, bestEffort: true, want: but(deletePod, removeFinalizer)},
		"a deletion":             {fails: deletePod, code: 500, want: but(removeFinalizer)},
		"a patch":                {fails: patchGadget, code: 500, want: but(removeFinalizer)},
		"an optional creation":   {fails: createGadget, code: 422, want: but(removeFinalizer)},
		"a creation":             {fails: createPod, code: 403, want: but(removeFinalizer)},
		"removing the finalizer": {fails: removeFinalizer, code: 500, want: all},
	} {
		t.Run(name, func(t *testing.T) {
			s := newAPIServer(t)
			a := newTestApplier(t, s, nil)
			seen, plan := everything(t, s, a)
			plan.Annotate.BestEffort = c.bestEffort
			finalizers := 0
			s.failing(func(request string) *metav1.Status {
				if request == addFinalizer {
					if finalizers++; finalizers == 2 {
						request = removeFinalizer
					}
				}
				if request == c.fails {
					return statusOf(c.code)
				}
				return nil
			})
			requeue, err := a.Apply(t.Context(), seen, plan)
			want := slices.Clone(c.want)
			for i := range want {
				want[i] = strings.TrimSpace(want[i])
			}
			if diff := cmp.Diff(want, s.requests()); diff != "" {
				t.Errorf("requests (-want +got):\n%s", diff)
			}
			if (err != nil) != (c.fails != "") {
				t.Errorf("error: %v", err)
			}
			if err == nil && requeue != RequeueFallback {
				t.Errorf("requeued in %s: what was created and deleted may never be seen", requeue)
			}
			has := s.head(t, "a").Meta.Finalizers
			switch {
			case c.fails == addFinalizer && !slices.Equal(has, []string{"old"}):
				t.Errorf("finalizers: %v", has)
			case c.fails != addFinalizer && (c.fails == removeFinalizer || !slices.Contains(c.want, removeFinalizer)) && !slices.Equal(has, []string{"old", "new"}):
				t.Errorf("finalizers: %v", has)
			case c.fails != removeFinalizer && slices.Contains(c.want, removeFinalizer) && !slices.Equal(has, []string{"new"}):
				t.Errorf("finalizers: %v", has)
			}
		})
	}
}

// TestFinalizersStayWhileSomethingWaits: a refused write is not repeated immediately. That is no error, but the write is not done.
func TestFinalizersStayWhileSomethingWaits(t *testing.T) {
	for name, fails := range map[string]string{"a patch": patchGadget, "an optional creation": createGadget, "a creation in a namespace that is being deleted": createPod} {
		t.Run(name, func(t *testing.T) {
			s := newAPIServer(t)
			a := newTestApplier(t, s, nil)
			seen, plan := everything(t, s, a)
			s.failing(func(request string) *metav1.Status {
				switch {
				case request == fails && fails == createPod:
					going := terminatingStatus("ns")
					return &going
				case request == fails:
					return statusOf(http.StatusUnprocessableEntity)
				}
				return nil
			})
			if _, err := a.Apply(t.Context(), seen, plan); err == nil {
				t.Fatal("no error: this shows nothing")
			}
			s.requests()
			plan = schema.Plan{Patch: plan.Patch, RemoveFinalizers: plan.RemoveFinalizers, Create: plan.Create}
			switch fails {
			case patchGadget:
				plan.Create = nil
			case createGadget:
				plan.Patch, plan.Create = nil, plan.Create[1:]
			case createPod:
				plan.Patch, plan.Create = nil, plan.Create[:1]
			}
			now := &schema.Observed{Head: s.head(t, "a"), Object: "widget"}
			requeue, err := a.Apply(t.Context(), now, plan)
			if err != nil || requeue <= 0 {
				t.Errorf("requeued in %s: %v", requeue, err)
			}
			if slices.ContainsFunc(s.requests(), func(request string) bool { return !strings.HasPrefix(request, "GET") }) {
				t.Error("something was written")
			}
			if has := s.head(t, "a").Meta.Finalizers; !slices.Contains(has, "old") {
				t.Errorf("finalizers: %v", has)
			}
		})
	}
}

// TestFinalizers: the list is replaced as a whole, at the version that the decision saw, and only if it changes.
func TestFinalizers(t *testing.T) {
	for name, c := range map[string]struct {
		has, add, remove, want []string
		requests               int
	}{
		"add to none":              {nil, []string{"x"}, nil, []string{"x"}, 1},
		"add to others":            {[]string{"o"}, []string{"x", "y"}, nil, []string{"o", "x", "y"}, 1},
		"add what is there":        {[]string{"x"}, []string{"x"}, nil, []string{"x"}, 0},
		"add one twice":            {nil, []string{"x", "x"}, nil, []string{"x"}, 1},
		"remove":                   {[]string{"o", "x"}, nil, []string{"x"}, []string{"o"}, 1},
		"remove the last":          {[]string{"x"}, nil, []string{"x"}, nil, 1},
		"remove what is not there": {[]string{"o"}, nil, []string{"x"}, []string{"o"}, 0},
		"add one, remove another":  {[]string{"o"}, []string{"x"}, []string{"o"}, []string{"x"}, 2},
		"add one, remove none":     {[]string{"o"}, []string{"x"}, []string{"y"}, []string{"o", "x"}, 1},
		"nothing":                  {[]string{"o"}, nil, nil, []string{"o"}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			s := newAPIServer(t)
			a := newTestApplier(t, s, nil)
			s.put(widgetsPath+"a", map[string]any{"finalizers": c.has})
			seen := &schema.Observed{Head: s.head(t, "a")}
			a.Store.SetVerified(seen.Head.Meta.UID)
			before := slices.Clone(seen.Head.Meta.Finalizers)
			if _, err := a.Apply(t.Context(), seen, schema.Plan{AddFinalizers: c.add, RemoveFinalizers: c.remove}); err != nil {
				t.Fatal(err)
			}
			now := s.head(t, "a")
			if got := s.requests(); !slices.Equal(now.Meta.Finalizers, c.want) || len(got) != c.requests {
				t.Errorf("%v after %v, want %v after %d requests", now.Meta.Finalizers, got, c.want, c.requests)
			}
			if !slices.Equal(before, seen.Head.Meta.Finalizers) {
				t.Error("the cached object was changed")
			}
			if (c.requests > 0) != a.Store.IsOwnEcho(now.Meta.UID, now.Meta.ResourceVersion) {
				t.Error("the version of our own write is not known")
			}
		})
	}
}

// TestFinalizersOfWhatHasChanged: another client's change is a conflict, and the decision is made again. An object that is gone has no
// finalizers to remove, and gets none.
func TestFinalizersOfWhatHasChanged(t *testing.T) {
	for _, plan := range []schema.Plan{{AddFinalizers: []string{"x"}}, {RemoveFinalizers: []string{"o"}}} {
		s := newAPIServer(t)
		a := newTestApplier(t, s, nil)
		s.put(widgetsPath+"a", map[string]any{"finalizers": []string{"o"}})
		seen := &schema.Observed{Head: s.head(t, "a")}
		a.Store.SetVerified(seen.Head.Meta.UID)
		s.put(widgetsPath+"a", map[string]any{"finalizers": []string{"o", "of another"}})
		if _, err := a.Apply(t.Context(), seen, plan); ClassOf(err) != Retry {
			t.Errorf("%+v: %v", plan, err)
		}
		if has := s.head(t, "a").Meta.Finalizers; !slices.Equal(has, []string{"o", "of another"}) {
			t.Errorf("finalizers: %v", has)
		}
		s.Locked(func() { s.Drop(widgetsPath + "a") })
		_, err := a.Apply(t.Context(), seen, plan)
		if adds := len(plan.AddFinalizers) > 0; adds != errors.Is(err, errUnrecorded) || !adds && err != nil {
			t.Errorf("%+v of what is gone: %v", plan, err)
		}
	}
}

// TestFinalizersThatAreNotKept: what a finalizer guards is not created if the object does not have the finalizer, and an event says so.
func TestFinalizersThatAreNotKept(t *testing.T) {
	s := newAPIServer(t)
	a := newTestApplier(t, s, nil)
	s.keeping(func(o map[string]any) { delete(o["metadata"].(map[string]any), "finalizers") })
	seen, plan := everything(t, s, a)
	_, err := a.Apply(t.Context(), seen, plan)
	if got := s.requests(); !slices.Equal(got, []string{addFinalizer}) || err == nil || LongestBackOff(err) != LastRefused {
		t.Errorf("%v: %v", got, err)
	}
	if got := s.reported(t, "WidgetFailed"); !strings.Contains(got, "Error adding finalizers: ") || !strings.Contains(got, "the finalizer new is not kept") {
		t.Errorf("reported %q", got)
	}
}

// TestSpecChangedByAWebhook: an admission webhook that changes the spec while an annotation or a finalizer is written makes the decision
// outdated: nothing further of the plan is done, and the event of the write, which has the new spec, is no echo.
func TestSpecChangedByAWebhook(t *testing.T) {
	for step, keep := range map[string]func(*schema.Plan){
		addFinalizer: func(p *schema.Plan) {},
		annotate:     func(p *schema.Plan) { p.AddFinalizers, p.Status = nil, nil },
	} {
		s := newAPIServer(t)
		a := newTestApplier(t, s, nil)
		seen, plan := everything(t, s, a)
		keep(&plan)
		s.keeping(func(o map[string]any) {
			o["spec"] = map[string]any{"changed": true}
		})
		_, err := a.Apply(t.Context(), seen, plan)
		if got := s.requests(); !slices.Equal(got, []string{step}) || ClassOf(err) != Behind {
			t.Errorf("%s: %v: %v", step, got, err)
		}
		now := s.head(t, "a")
		if a.Store.IsOwnEcho(now.Meta.UID, now.Meta.ResourceVersion) {
			t.Errorf("%s: the event of the changed spec would be dropped", step)
		}
		if got := a.Store.Check(now.Meta.UID, func() string { return seen.Head.Meta.ResourceVersion }, nil); got != consistency.Behind {
			t.Errorf("%s: the cache is %v", step, got)
		}
	}
}
