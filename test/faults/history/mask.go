package history

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Generated takes the place of what differs between two runs because somebody has drawn it.
const Generated = "GENERATED"

// ordinalLabel is on the pods of a MyDeployment, which are equal: the ordinal in the name of one is the lowest that was free, which
// depends on how long others took to terminate.
const ordinalLabel = "apps.example.com/template-hash"

// templateHashLabel is on the pods of a Deployment, and its value in their names: a hash of a template that has the name of the
// object in it, as has that of a ReplicaSet, which nobody watches. templateHash takes its place.
const templateHashLabel, templateHash = "pod-template-hash", "HASH"

// NameOf an object, by which it is known in two runs. What the API server puts behind a generateName is drawn.
func NameOf(u *unstructured.Unstructured) string {
	if at := strings.LastIndexByte(u.GetName(), '-'); at > 0 && u.GetKind() == "Pod" && u.GetLabels()[ordinalLabel] != "" {
		return u.GetName()[:at+1] + Generated
	}
	if prefix := u.GetGenerateName(); prefix != "" && strings.HasPrefix(u.GetName(), prefix) {
		return mask(prefix, u.GetLabels()[templateHashLabel], templateHash) + Generated
	}
	return u.GetName()
}

// sorted pods: those of one batch/v1 Job, whose names are drawn, by how they are.
func sorted(pods []*unstructured.Unstructured) []*unstructured.Unstructured {
	return slices.SortedStableFunc(slices.Values(pods), func(a, b *unstructured.Unstructured) int {
		return cmp.Or(cmp.Compare(NameOf(a), NameOf(b)), cmp.Compare(fmt.Sprint(podStatus(a)), fmt.Sprint(podStatus(b))))
	})
}

// maskUIDs of the dependents that are there, as the labels of a batch/v1 Job's pods hold the UID of the Job, and their hashes.
func (v View) maskUIDs(text string) string {
	for _, u := range v.Children() {
		text = mask(text, string(u.GetUID()), "UID of "+u.GetKind()+" "+NameOf(u))
		text = mask(text, u.GetLabels()[templateHashLabel], templateHash)
	}
	return text
}

// maskContent of a Secret: a key is generated.
func maskContent(u *unstructured.Unstructured, body map[string]any) {
	if data, ok := body["data"].(map[string]any); ok && u.GetKind() == "Secret" {
		for key := range data {
			data[key] = Generated
		}
	}
}

// hashAnnotation is where Stoic keeps a hash of a pod template, which has the name of the job in it.
const hashAnnotation = "training.kubeflow.org/template-hash"

// batchStatus of a batch/v1 Job: how it ended, and how many of its pods failed before.
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
