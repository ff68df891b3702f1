package convert

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"stoic/schema"
)

// SlimPod returns a function for Owned.Slim that reduces pods to a schema.Pod with these labels. It reads any object.
func SlimPod(names ...string) func(*unstructured.Unstructured) any {
	return func(u *unstructured.Unstructured) any {
		meta, _ := u.Object["metadata"].(map[string]any)
		has, _ := meta["labels"].(map[string]any)
		status, _ := u.Object["status"].(map[string]any)
		p := schema.Pod{Finished: status["phase"] == "Succeeded" || status["phase"] == "Failed"}
		asked := map[string]string{}
		for _, name := range names {
			if value, ok := has[name].(string); ok {
				asked[name] = value
			}
		}
		p.Labels = schema.LabelsOf(asked)
		conditions, _ := status["conditions"].([]any)
		for _, raw := range conditions {
			if c, _ := raw.(map[string]any); c["type"] == "Ready" && c["status"] == "True" && !p.Finished {
				p.Ready = true
				p.ReadySince, _ = TimeOf(c["lastTransitionTime"])
			}
		}
		return p
	}
}
