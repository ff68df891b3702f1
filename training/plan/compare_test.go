package plan

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"stoic/training"
)

func TestSame(t *testing.T) {
	at := metav1.NewTime(epoch)
	full := func() training.Status {
		return training.Status{
			Conditions:      []training.Condition{{Type: "A", Status: "True", Reason: "r", Message: "m", LastUpdateTime: at, LastTransitionTime: at}},
			ReplicaStatuses: map[string]training.ReplicaStatus{"Worker": {Active: 1}},
			StartTime:       at.DeepCopy(), CompletionTime: at.DeepCopy(), LastReconcileTime: at.DeepCopy(), ObservedGeneration: 1,
		}
	}
	later := metav1.NewTime(epoch.Add(time.Second))
	for name, change := range map[string]func(*training.Status){
		"one more":     func(s *training.Status) { s.Conditions = append(s.Conditions, training.Condition{}) },
		"type":         func(s *training.Status) { s.Conditions[0].Type = "B" },
		"status":       func(s *training.Status) { s.Conditions[0].Status = "False" },
		"reason":       func(s *training.Status) { s.Conditions[0].Reason = "" },
		"message":      func(s *training.Status) { s.Conditions[0].Message = "" },
		"update":       func(s *training.Status) { s.Conditions[0].LastUpdateTime = later },
		"transition":   func(s *training.Status) { s.Conditions[0].LastTransitionTime = later },
		"counts":       func(s *training.Status) { s.ReplicaStatuses["Worker"] = training.ReplicaStatus{Active: 2} },
		"replica type": func(s *training.Status) { s.ReplicaStatuses["PS"] = training.ReplicaStatus{} },
		"start":        func(s *training.Status) { s.StartTime = nil },
		"completion":   func(s *training.Status) { s.CompletionTime = &later },
		"reconcile":    func(s *training.Status) { s.LastReconcileTime = nil },
		"generation":   func(s *training.Status) { s.ObservedGeneration = 2 },
		"zero update":  func(s *training.Status) { s.Conditions[0].LastUpdateTime = metav1.Time{} },
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
	if !same(&training.Status{StartTime: &metav1.Time{}}, &training.Status{Conditions: []training.Condition{}, ReplicaStatuses: map[string]training.ReplicaStatus{}}, true) {
		t.Error("nothing and empty are the same")
	}
}
