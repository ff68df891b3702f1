package schema

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestRejectionEvents(t *testing.T) {
	now := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	head := &Head{Resource: Resource{Kind: "FooBar"}}
	head.Meta.Generation = 3
	o := Observed{Head: head, Now: now, Rejection: &Rejection{}}
	for range MaxReported + 2 {
		o.Rejection.Problems = append(o.Rejection.Problems, Problem{Code: InvalidValue, Path: "spec.a", Found: "7", Want: "be 8"})
	}
	events := RejectionEvents(o, now.Add(-time.Minute))
	if len(events) != MaxReported+1 || !strings.Contains(events[MaxReported].Message, "2 more") {
		t.Fatalf("%d events: %+v", len(events), events)
	}
	cut := o
	cut.Rejection = &Rejection{Problems: o.Rejection.Problems[:MaxReported], More: 2} // as the cache keeps it
	if diff := cmp.Diff(events, RejectionEvents(cut, now.Add(-time.Minute))); diff != "" {
		t.Errorf("-all kept +counted\n%s", diff)
	}
	cut.Rejection = &Rejection{Problems: o.Rejection.Problems[:MaxReported], More: 1}
	if last := RejectionEvents(cut, now)[MaxReported].Message; last != "... and 1 more problem" {
		t.Errorf("of one more: %s", last)
	}
	want := Event{Type: "Warning", Reason: "FooBarFailedValidation", FieldPath: "spec.a", Message: "spec.a: found 7, must be 8",
		Occasion: "generation 3", Since: now.Add(-time.Minute), AboutSpec: true}
	if diff := cmp.Diff(want, events[0]); diff != "" {
		t.Error(diff)
	}
	if late := RejectionEvents(o, now.Add(-time.Hour)); late != nil {
		t.Errorf("of what is long past: %+v", late)
	}
	o.Rejection = nil
	if none := RejectionEvents(o, now); none != nil {
		t.Errorf("of an object that is served: %+v", none)
	}
}

// TestWarningEvents: warnings of an object that is served are reported for each generation, as long as they may be unreported.
func TestWarningEvents(t *testing.T) {
	now := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	object := func(age time.Duration, generation, observed int64) Observed {
		head := &Head{Resource: Resource{Kind: "FooBar"}, ObservedGeneration: observed,
			Warnings: []Problem{{Code: UnknownField, Path: "spec.targett", Hint: "did you mean `target`?"}, {Code: InvalidValue, Path: "spec.z", Want: "be less odd"}}}
		head.Meta.Generation, head.Meta.CreationTimestamp = generation, metav1.NewTime(now.Add(-age))
		return Observed{Head: head, Now: now, KeepsGeneration: true}
	}
	created := now.Add(-time.Minute)
	want := []Event{
		{Type: "Warning", Reason: "UnknownField", FieldPath: "spec.targett", Message: "spec.targett: unknown field; did you mean `target`?", Occasion: "generation 1", Since: created, AboutSpec: true},
		{Type: "Warning", Reason: "FooBarSpecWarning", FieldPath: "spec.z", Message: "spec.z: must be less odd", Occasion: "generation 1", Since: created, AboutSpec: true},
	}
	if diff := cmp.Diff(want, WarningEvents(object(time.Minute, 1, 1))); diff != "" {
		t.Errorf("of a young object (-want +got):\n%s", diff)
	}
	if got := WarningEvents(object(24*time.Hour, 7, 7)); got != nil {
		t.Errorf("of a spec that is on record, of an old object: %v", got)
	}
	if got := WarningEvents(object(24*time.Hour, 7, 6)); len(got) != 2 || !got[0].Since.Equal(now) || got[0].Occasion != "generation 7" {
		t.Errorf("of a spec that is not on record yet: %v", got)
	}
	pruned := object(24*time.Hour, 7, 0)
	if pruned.KeepsGeneration = false; WarningEvents(pruned) != nil {
		t.Error("of an old object whose schema keeps no generation")
	}
	many := object(0, 1, 0)
	if many.Head.MoreWarnings = 3; WarningEvents(many)[2].Message != "... and 3 more warnings" {
		t.Errorf("of more: %v", WarningEvents(many))
	}
	if many.Head.MoreWarnings = 1; WarningEvents(many)[2].Message != "... and 1 more warning" {
		t.Errorf("of one more: %v", WarningEvents(many))
	}
	for name, change := range map[string]func(*Observed){
		"rejected": func(o *Observed) { o.Rejection = &Rejection{} },
		"deleted":  func(o *Observed) { at := metav1.NewTime(now); o.Head.Meta.DeletionTimestamp = &at },
		"sound":    func(o *Observed) { o.Head.Warnings = nil },
	} {
		o := object(0, 1, 0)
		if change(&o); WarningEvents(o) != nil {
			t.Errorf("of one that is %s: %v", name, WarningEvents(o))
		}
	}
}

func TestSetCondition(t *testing.T) {
	early, late := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC), time.Date(2026, 1, 2, 0, 0, 0, 500, time.UTC)
	ready := func(status metav1.ConditionStatus, reason string) metav1.Condition {
		return metav1.Condition{Type: "Ready", Status: status, Reason: reason}
	}
	first := SetCondition(nil, ready("False", "Creating"), early)
	same := SetCondition(first, ready("False", "Waiting"), late)
	if got := same[0]; !got.LastTransitionTime.Time.Equal(early) || got.Reason != "Waiting" {
		t.Errorf("another reason: %+v", got)
	}
	turned := SetCondition(same, ready("True", "Created"), late)
	if got := turned[0]; !got.LastTransitionTime.Time.Equal(late.Truncate(time.Second)) || got.Status != "True" {
		t.Errorf("another status: %+v", got)
	}
	both := SetCondition(turned, metav1.Condition{Type: "Stalled", Status: "True"}, late)
	both = SetCondition(both, metav1.Condition{Type: "Apart", Status: "True"}, late)
	var types []string
	for _, c := range both {
		types = append(types, c.Type)
	}
	if diff := cmp.Diff([]string{"Apart", "Ready", "Stalled"}, types); diff != "" {
		t.Error(diff)
	}
	// A user may write anything: no time, and a type twice.
	odd := SetCondition([]metav1.Condition{{Type: "Ready", Status: "True"}, {Type: "Ready", Status: "False"}}, ready("True", "x"), late)
	if len(odd) != 1 || odd[0].LastTransitionTime.IsZero() {
		t.Errorf("%+v", odd)
	}
	if Condition(both, "Ready") == nil || Condition(both, "None") != nil || first[0].Reason != "Creating" {
		t.Error("Condition, or what was given has changed")
	}
}

func TestValidity(t *testing.T) {
	now := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	o := Observed{Head: &Head{Resource: Resource{Kind: "FooBar"}}, Now: now}
	ready, stalled, events := Validity(o, nil, "nothing is done")
	if ready != (metav1.Condition{Type: "Ready", Status: "True"}) || stalled != (metav1.Condition{Type: "Stalled", Status: "False", Reason: "ValidSpec"}) || events != nil {
		t.Errorf("well-formed: %+v, %+v, %+v", ready, stalled, events)
	}
	o.Rejection = &Rejection{Problems: []Problem{{Path: "spec.a", Found: "7", Want: "be 8"}}}
	ready, stalled, events = Validity(o, nil, "nothing is done")
	const message = "1 problem, nothing is done: [1] spec.a: found 7, must be 8. Edit the FooBar to retry."
	if ready != (metav1.Condition{Type: "Ready", Status: "False", Reason: "InvalidSpec", Message: message}) ||
		stalled != (metav1.Condition{Type: "Stalled", Status: "True", Reason: "InvalidSpec", Message: message}) || len(events) != 1 || !events[0].Since.Equal(now) {
		t.Errorf("rejected: %+v, %+v, %+v", ready, stalled, events)
	}
	stalled.LastTransitionTime = metav1.NewTime(now.Add(-time.Hour))
	if _, _, events = Validity(o, []metav1.Condition{stalled}, ""); events != nil {
		t.Errorf("long on record: %+v", events)
	}
}

func TestBackOff(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	ago := func(d time.Duration) *metav1.Time { return &metav1.Time{Time: now.Add(-d)} }
	for _, c := range []struct {
		name     string
		last     *metav1.Time
		recorded int32
		wait     time.Duration
		times    int32
	}{
		{"nothing on record", nil, 7, 0, 1},
		{"the future", ago(-time.Second), 3, 0, 1},
		{"the year 9999", &metav1.Time{Time: time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC)}, 3, 0, 1},
		{"the zero time", &metav1.Time{}, 3, 0, 1},
		{"long past", ago(10*time.Minute + 1), 3, 0, 1},
		{"not quite", ago(10 * time.Minute), 3, 0, 4},
		{"just now", ago(0), 1, 10 * time.Second, 2},
		{"the second", ago(0), 2, 20 * time.Second, 3},
		{"part of it is over", ago(15 * time.Second), 2, 5 * time.Second, 3},
		{"it is over", ago(25 * time.Second), 2, 0, 3},
		{"the longest", ago(0), 6, 5 * time.Minute, 7},
		{"no longer", ago(0), 29, 5 * time.Minute, 30},
		{"an edited number", ago(0), math.MaxInt32, 5 * time.Minute, 31},
		{"a negative number", ago(0), math.MinInt32, 10 * time.Second, 2},
	} {
		if wait, times := BackOff(c.last, c.recorded, now, 10*time.Second, 5*time.Minute); wait != c.wait || times != c.times {
			t.Errorf("%s: wait %s, times %d; want %s, %d", c.name, wait, times, c.wait, c.times)
		}
	}
}

func TestOwnerText(t *testing.T) {
	head := &Head{Resource: Resource{Group: "g", Version: "v1", Kind: "FooBar"}}
	head.Meta.Namespace, head.Meta.Name, head.Meta.UID = "ns", "a", "u"
	apiVersion, kind, namespace, name, uid, ok := ParseOwnerText(OwnerText(head))
	if !ok || apiVersion != "g/v1" || kind != "FooBar" || namespace != "ns" || name != "a" || uid != "u" {
		t.Error(apiVersion, kind, namespace, name, uid, ok)
	}
	head.Meta.Namespace = ""
	if _, _, namespace, name, _, ok := ParseOwnerText(OwnerText(head)); !ok || namespace != "" || name != "a" {
		t.Error("a cluster-scoped owner", namespace, name, ok)
	}
	for _, text := range []string{"", "a b c d", "a b c/d", " b c/d e", "a b c/ e", "a b c/d e f", "a  c/d e"} {
		if _, _, _, _, _, ok := ParseOwnerText(text); ok {
			t.Errorf("%q names an owner", text)
		}
	}
}
