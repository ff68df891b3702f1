package controller

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"stoic/schema"
)

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
