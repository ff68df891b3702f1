package controller

import (
	"cmp"
	"fmt"
	"math"
	"sync/atomic"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/intstr"
	"pgregory.net/rapid"

	"stoic/convert"
	"stoic/schema"
	"stoic/test/faults/apimodel/server"
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

func TestRolloutBounds(t *testing.T) {
	for _, c := range []struct {
		n                  int
		maxSurge, maxUnav  string
		surge, unavailable int
	}{
		{10, "25%", "25%", 3, 2},
		{3, "1", "9", 1, 3},
		{3, "0", "25%", 0, 1},
		{3, "0%", "0", 0, 1},
		{0, "25%", "25%", 0, 0},
		{0, "2", "2", 2, 0},
		{4, "200%", "100%", 8, 4},
		{4, "one", "-1", 0, 1},
		{4, "", "50", 0, 4},
	} {
		surge, unavailable := RolloutBounds(c.n, intstr.Parse(c.maxSurge), intstr.Parse(c.maxUnav))
		if surge != c.surge || unavailable != c.unavailable {
			t.Errorf("%d, %q, %q: %d more and %d fewer, want %d and %d", c.n, c.maxSurge, c.maxUnav, surge, unavailable, c.surge, c.unavailable)
		}
	}
}

// TestRolloutBoundsReplace: whatever the values are, a roll-out of any pods may replace one, and removes no more than there are.
func TestRolloutBoundsReplace(t *testing.T) {
	value := rapid.OneOf(rapid.Map(rapid.Int32(), intstr.FromInt32), rapid.Map(rapid.StringMatching(`[0-9]{1,4}%|.{0,4}`), intstr.FromString))
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(0, math.MaxInt32).Draw(t, "n")
		surge, unavailable := RolloutBounds(n, value.Draw(t, "maxSurge"), value.Draw(t, "maxUnavailable"))
		if surge < 0 || unavailable < 0 || unavailable > n || n > 0 && surge+unavailable == 0 {
			t.Fatalf("%d pods: %d more and %d fewer", n, surge, unavailable)
		}
	})
}

// TestSelectedBy: a well-formed object claims what its selector selects; a rejected one, and one with an invalid selector, claims nothing.
func TestSelectedBy(t *testing.T) {
	claims := SelectedBy(func(w *widget) *metav1.LabelSelector {
		if w.Name == "none" {
			return nil
		}
		return &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "app", Operator: metav1.LabelSelectorOperator(w.Name), Values: []string{"a"}}}}
	})
	for operator, want := range map[string][2]bool{"In": {true, false}, "NotIn": {false, true}, "Between": {}, "none": {}} {
		var matches [2]bool
		if selector := claims(&convert.Result{Object: &widget{ObjectMeta: metav1.ObjectMeta{Name: operator}}}); selector != nil {
			matches = [2]bool{selector.Matches(labels.Set{"app": "a"}), selector.Matches(labels.Set{"app": "b"})}
		}
		if matches != want {
			t.Errorf("%s a: it claims a and b: %v, want %v", operator, matches, want)
		}
	}
	if selector := claims(&convert.Result{}); selector != nil {
		t.Errorf("a rejected object claims %s", selector)
	}
}

type countedStatus struct {
	ObservedGeneration int64              `json:"observedGeneration,omitempty"`
	Available          int32              `json:"available,omitempty"`
	Names              []string           `json:"names,omitempty"`
	Of                 map[string]int     `json:"of,omitempty"`
	Since              *metav1.Time       `json:"since,omitempty"`
	Conditions         []metav1.Condition `json:"conditions,omitempty"`
	Message            string             `json:"message,omitempty"`
}

func TestDebounceCounts(t *testing.T) {
	now := time.Unix(1790000000, 0)
	ready := func(status metav1.ConditionStatus, reason, message string) []metav1.Condition {
		return []metav1.Condition{{Type: "Ready", Status: status, Reason: reason, Message: message, ObservedGeneration: 1, LastTransitionTime: metav1.NewTime(now)}}
	}
	before := countedStatus{ObservedGeneration: 1, Available: 1, Names: []string{"a"}, Of: map[string]int{"a": 1}, Conditions: ready("False", "Waits", "1 of 9"), Message: "m"}
	status := func(change func(*countedStatus)) *countedStatus {
		s := before
		change(&s)
		return &s
	}
	more := status(func(s *countedStatus) { s.Available, s.Conditions = 2, ready("False", "Waits", "2 of 9") })
	type test struct {
		plan    Plan
		ago     time.Duration // the last write; less than nothing: it is in the future
		waits   bool
		requeue time.Duration
	}
	later := time.Unix(1790000001, 0)
	for name, c := range map[string]test{
		"nothing":                    {Plan{}, time.Second, false, 0},
		"a count":                    {Plan{Status: more}, time.Second, true, 4 * time.Second},
		"a count, in time":           {Plan{Status: more}, countsEvery, false, 0},
		"a count, comes again first": {Plan{Status: more, Requeue: time.Second}, time.Second, true, time.Second},
		"a count, comes again later": {Plan{Status: more, Requeue: time.Minute}, time.Second, true, 4 * time.Second},
		"a clock that went back":     {Plan{Status: more}, -time.Second, false, 0},
		"a count that is 0 again":    {Plan{Status: status(func(s *countedStatus) { s.Available = 0 })}, 0, true, countsEvery},
		"a count with a new name":    {Plan{Status: status(func(s *countedStatus) { s.Of = map[string]int{"a": 1, "b": 1} })}, 0, true, countsEvery},
		"a generation":               {Plan{Status: status(func(s *countedStatus) { s.ObservedGeneration = 2 })}, 0, false, 0},
		"another name":               {Plan{Status: status(func(s *countedStatus) { s.Names = []string{"b"} })}, 0, false, 0},
		"one more name":              {Plan{Status: status(func(s *countedStatus) { s.Names = []string{"a", "b"} })}, 0, false, 0},
		"no names":                   {Plan{Status: status(func(s *countedStatus) { s.Names = nil })}, 0, false, 0},
		"a time":                     {Plan{Status: status(func(s *countedStatus) { s.Since = &metav1.Time{Time: later} })}, 0, false, 0},
		"a condition":                {Plan{Status: status(func(s *countedStatus) { s.Conditions = ready("True", "Waits", "1 of 9") })}, 0, false, 0},
		"a reason":                   {Plan{Status: status(func(s *countedStatus) { s.Conditions = ready("False", "Failed", "1 of 9") })}, 0, false, 0},
		"no condition":               {Plan{Status: status(func(s *countedStatus) { s.Conditions = nil })}, 0, false, 0},
		"a message of no condition":  {Plan{Status: status(func(s *countedStatus) { s.Message = "n" })}, 0, false, 0},
		"a count, and a creation":    {Plan{Status: more, Create: []schema.Object{{}}}, 0, false, 0},
		"a count, and an event":      {Plan{Status: more, Events: []schema.Event{{}}}, 0, false, 0},
		"a count, and a finalizer":   {Plan{Status: more, RemoveFinalizers: []string{"f"}}, 0, false, 0},
		"a count, and an annotation": {Plan{Status: more, Annotate: &schema.Annotate{}}, 0, false, 0},
	} {
		plan := c.plan
		o := Observed{Head: &schema.Head{Status: &before}, Now: now, WrittenAt: now.Add(-c.ago)}
		debounceCounts(&o, &plan)
		if waits := c.plan.Status != nil && plan.Status == nil; waits != c.waits || plan.Pending != c.waits || plan.Requeue != c.requeue && c.waits {
			t.Errorf("%s: waits %t, pending %t, comes again in %s", name, waits, plan.Pending, plan.Requeue)
		}
	}
	o, plan := Observed{Head: &schema.Head{Status: &before}, Now: now}, Plan{Status: more}
	if debounceCounts(&o, &plan); plan.Status == nil {
		t.Error("a process that has written nothing yet waits")
	}
	o, plan = Observed{Head: &schema.Head{Status: &before, StatusUnfit: true}, Now: now, WrittenAt: now}, Plan{Status: more}
	if debounceCounts(&o, &plan); plan.Status == nil {
		t.Error("a status with a value of another type waits")
	}
}

// TestRequeueOfAPlan: no Requeue of a plan makes an object reconcile in a hot loop, and none makes the engine forget the object.
func TestRequeueOfAPlan(t *testing.T) {
	create := []schema.Object{{Resource: schema.Pods(), Namespace: "ns", Name: "p"}}
	for name, c := range map[string]struct {
		plan Plan
		want time.Duration
	}{
		"never":                        {Plan{}, 0},
		"a time that is over":          {Plan{Requeue: -time.Hour}, shortestRequeue},
		"a time that is over, writing": {Plan{Requeue: -1, Create: create}, shortestRequeue},
		"at once":                      {Plan{Requeue: 1}, shortestRequeue},
		"at once, with a status":       {Plan{Requeue: 1, Status: &struct{}{}}, shortestRequeue},
		"soon":                         {Plan{Requeue: shortestRequeue + 1}, shortestRequeue + 1},
		"the rest of what is created":  {Plan{Requeue: time.Millisecond, Create: create}, time.Millisecond},
		"the rest of what is deleted":  {Plan{Requeue: time.Millisecond, Delete: []schema.Deletion{{}}}, time.Millisecond},
		"the rest of what is patched":  {Plan{Requeue: time.Millisecond, Patch: []schema.Patch{{}}}, time.Millisecond},
		"later":                        {Plan{Requeue: time.Hour}, time.Hour},
	} {
		if got := requeueOf(&c.plan); got != c.want {
			t.Errorf("%s: again in %s, want %s", name, got, c.want)
		}
	}
}

// TestRequeueIsNoHotLoop: a Decide that wants to decide again in a nanosecond, or whose time is over, decides again, but not at once.
func TestRequeueIsNoHotLoop(t *testing.T) {
	for name, requeue := range map[string]time.Duration{"at once": 1, "a time that is over": -time.Minute} {
		t.Run(name, func(t *testing.T) {
			const times = 4
			var began, decided atomic.Int64
			var took atomic.Int64
			s := newAPIServer(t)
			s.Locked(func() {
				s.Serve(gatherers())
				s.Store(gatherersPath+"a", map[string]any{"apiVersion": "example.com/v1", "kind": "Gatherer", "spec": map[string]any{"gathers": "x"},
					"metadata": map[string]any{"name": "a", "namespace": "ns", "uid": "u"}})
			})
			w := Typed(gathererResource("Gatherer"), func(*gatherer, Observed) (p Plan) {
				switch decided.Add(1) {
				case 1:
					began.Store(time.Now().UnixNano())
				case times:
					took.Store(time.Now().UnixNano() - began.Load())
				}
				p.Requeue = requeue
				return p
			}, []*Owned{{Resource: schema.Pods()}})
			start(t, newTestController(t, s, func(o *Options) { o.Watches = []Watch{w} }))
			server.Await(t, "it to be decided some times", func() bool { return took.Load() > 0 })
			// The first events of the pods may have queued it once beside.
			if got, least := time.Duration(took.Load()), (times-2)*shortestRequeue; got < least {
				t.Errorf("decided %d times in %s, want %s at least", times, got, least)
			}
		})
	}
}
