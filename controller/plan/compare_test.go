package plan

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"stoic/schema"
)

func TestSame(t *testing.T) {
	at := metav1.NewTime(epoch)
	full := func() schema.Status {
		return schema.Status{
			Conditions:      []schema.Condition{{Type: "A", Status: "True", Reason: "r", Message: "m", LastUpdateTime: at, LastTransitionTime: at}},
			ReplicaStatuses: map[string]schema.ReplicaStatus{"Worker": {Active: 1}},
			StartTime:       at.DeepCopy(), CompletionTime: at.DeepCopy(), LastReconcileTime: at.DeepCopy(), ObservedGeneration: 1,
		}
	}
	later := metav1.NewTime(epoch.Add(time.Second))
	for name, change := range map[string]func(*schema.Status){
		"one more":    func(s *schema.Status) { s.Conditions = append(s.Conditions, schema.Condition{}) },
		"type":        func(s *schema.Status) { s.Conditions[0].Type = "B" },
		"status":      func(s *schema.Status) { s.Conditions[0].Status = "False" },
		"reason":      func(s *schema.Status) { s.Conditions[0].Reason = "" },
		"message":     func(s *schema.Status) { s.Conditions[0].Message = "" },
		"update":      func(s *schema.Status) { s.Conditions[0].LastUpdateTime = later },
		"transition":  func(s *schema.Status) { s.Conditions[0].LastTransitionTime = later },
		"counts":      func(s *schema.Status) { s.ReplicaStatuses["Worker"] = schema.ReplicaStatus{Active: 2} },
		"role":        func(s *schema.Status) { s.ReplicaStatuses["PS"] = schema.ReplicaStatus{} },
		"start":       func(s *schema.Status) { s.StartTime = nil },
		"completion":  func(s *schema.Status) { s.CompletionTime = &later },
		"reconcile":   func(s *schema.Status) { s.LastReconcileTime = nil },
		"generation":  func(s *schema.Status) { s.ObservedGeneration = 2 },
		"zero update": func(s *schema.Status) { s.Conditions[0].LastUpdateTime = metav1.Time{} },
	} {
		a, b := full(), full()
		change(&b)
		if same(&a, &b, true) || same(&b, &a, true) {
			t.Errorf("%s: not seen", name)
		}
	}
	a, b := full(), full()
	b.ObservedGeneration = 7
	b.StartTime = &metav1.Time{Time: epoch.Add(time.Second / 2).In(time.FixedZone("", 3600))}
	if !same(&a, &b, false) {
		t.Error("a generation that is dropped, a fraction of a second or a time zone makes no difference")
	}
	if !same(&schema.Status{StartTime: &metav1.Time{}}, &schema.Status{Conditions: []schema.Condition{}, ReplicaStatuses: map[string]schema.ReplicaStatus{}}, true) {
		t.Error("nothing and empty are the same")
	}
}
