package controller

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"stoic/schema"
	"stoic/training"
	"stoic/training/kinds"
	"stoic/training/operator"
)

const podsPath = "/api/v1/namespaces/ns/pods/"

// owned returns a pod with that controller and the labels of its children, or without either if they are empty.
func owned(name, uid, kind, owner, label string) map[string]any {
	meta := map[string]any{"name": name, "namespace": "ns"}
	if uid != "" {
		meta["ownerReferences"] = []any{map[string]any{"apiVersion": "kubeflow.org/v1", "kind": kind, "name": owner, "uid": uid, "controller": true}}
	}
	if label != "" {
		meta["labels"] = map[string]any{training.LabelOperator: label, training.LabelJob: owner}
	}
	return map[string]any{"apiVersion": "v1", "kind": "Pod", "metadata": meta}
}

// someHead returns the head of job a, as the engine gets it from the converter.
func someHead() *schema.Head {
	head := operator.Convert(kinds.TFJob(), &unstructured.Unstructured{Object: job("a", 1, `{}`)}).Head
	head.Meta.UID, head.Meta.ResourceVersion = "mine", "7"
	return head
}

func statusAt(sec int64, reason string) *training.Status {
	now := metav1.NewTime(time.Unix(sec, 0))
	return &training.Status{StartTime: &now, ObservedGeneration: sec,
		Conditions: []training.Condition{{Type: training.Created, Status: metav1.ConditionTrue, Reason: reason, LastUpdateTime: now, LastTransitionTime: now}}}
}

// podOf returns a plan that creates one pod.
func podOf() schema.Plan {
	return schema.Plan{Create: []schema.Object{{Resource: schema.Pods(), Namespace: "ns", Name: "a-worker-0",
		Body: []byte(`{"metadata":{"name":"a-worker-0"}}`)}}}
}

// storedVersion returns the version of job a.
func (s *apiServer) storedVersion() (v string) {
	s.Locked(func() { v = s.At(jobsPath + "a")["metadata"].(map[string]any)["resourceVersion"].(string) })
	return v
}
