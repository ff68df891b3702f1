package history

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Generated replaces what differs between two runs because it was generated.
const Generated = "GENERATED"

// NameOf returns the name that an object has in both of two runs: without what the API server appends to a generateName.
func NameOf(u *unstructured.Unstructured) string {
	if prefix := u.GetGenerateName(); prefix != "" && strings.HasPrefix(u.GetName(), prefix) {
		return prefix + Generated
	}
	return u.GetName()
}

// sorted sorts pods by name, and by status those of one batch/v1 Job, whose names are generated.
func sorted(pods []*unstructured.Unstructured) []*unstructured.Unstructured {
	return slices.SortedStableFunc(slices.Values(pods), func(a, b *unstructured.Unstructured) int {
		return cmp.Or(cmp.Compare(NameOf(a), NameOf(b)), cmp.Compare(fmt.Sprint(podStatus(a)), fmt.Sprint(podStatus(b))))
	})
}

// maskUIDs replaces the UIDs of the existing dependents, as the labels of a batch/v1 Job's pods hold the UID of the Job.
func (v View) maskUIDs(text string) string {
	for _, u := range v.Children() {
		text = mask(text, string(u.GetUID()), "UID of "+u.GetKind()+" "+NameOf(u))
	}
	return text
}

// maskContent replaces the values of a Secret: a key is generated.
func maskContent(u *unstructured.Unstructured, body map[string]any) {
	if data, ok := body["data"].(map[string]any); ok && u.GetKind() == "Secret" {
		for key := range data {
			data[key] = Generated
		}
	}
}

// hashAnnotation is where Stoic keeps a hash of a pod template that contains the name of the job.
const hashAnnotation = "training.kubeflow.org/template-hash"

// batchStatus returns how a batch/v1 Job ended, and how many of its pods failed before.
func batchStatus(u *unstructured.Unstructured) map[string]any {
	found := map[string]any{}
	for _, end := range []string{"Complete", "Failed"} {
		if Is(u, end) {
			found["ended"] = end
		}
	}
	if failed, _, _ := unstructured.NestedInt64(u.Object, "status", "failed"); failed > 0 {
		found["failed"] = failed
	}
	return found
}
