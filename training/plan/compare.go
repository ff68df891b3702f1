package plan

import (
	"maps"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"stoic/training"
)

// same reports whether two statuses mean the same, so that no write is needed. Times are compared in
// seconds, as the API stores them. A generation that the served schema drops is no difference, because
// it would be written forever.
func same(a, b *training.Status, generation bool) bool {
	return slices.EqualFunc(a.Conditions, b.Conditions, sameCondition) &&
		maps.Equal(a.ReplicaStatuses, b.ReplicaStatuses) &&
		sameTime(a.StartTime, b.StartTime) &&
		sameTime(a.CompletionTime, b.CompletionTime) &&
		sameTime(a.LastReconcileTime, b.LastReconcileTime) &&
		(!generation || a.ObservedGeneration == b.ObservedGeneration)
}

func sameCondition(a, b training.Condition) bool {
	return a.Type == b.Type && a.Status == b.Status && a.Reason == b.Reason && a.Message == b.Message &&
		sameTime(&a.LastUpdateTime, &b.LastUpdateTime) && sameTime(&a.LastTransitionTime, &b.LastTransitionTime)
}

func sameTime(a, b *metav1.Time) bool {
	if a.IsZero() || b.IsZero() {
		return a.IsZero() && b.IsZero()
	}
	return a.Unix() == b.Unix()
}
