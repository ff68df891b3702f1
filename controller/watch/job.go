package watch

import (
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Job is what most operators need to know of a batch/v1 Job that they own.
type Job struct {
	Suspended bool
	// Parallelism and Completions are those of the spec, or 0. The API server sets both to 1 if neither is set, and
	// Parallelism alone otherwise.
	Parallelism, Completions int64
	// Result is Complete or Failed, or "" while the Job is not over.
	Result string
	// Ended is when it was over, in Unix seconds; 0 while it is not, or if that is not known.
	Ended int64
}

// SlimJob makes a Job of an object; for Owned.Slim.
func SlimJob(u *unstructured.Unstructured) any {
	var j Job
	j.Suspended, _, _ = unstructured.NestedBool(u.Object, "spec", "suspend")
	j.Parallelism, _, _ = unstructured.NestedInt64(u.Object, "spec", "parallelism")
	j.Completions, _, _ = unstructured.NestedInt64(u.Object, "spec", "completions")
	status, _ := u.Object["status"].(map[string]any)
	conditions, _ := status["conditions"].([]any)
	for _, raw := range conditions {
		c, _ := raw.(map[string]any)
		if result, _ := c["type"].(string); c["status"] == "True" && (result == "Complete" || result == "Failed") {
			j.Result = result
			text, _ := c["lastTransitionTime"].(string)
			if ended, err := time.Parse(time.RFC3339, text); err == nil {
				j.Ended = ended.Unix()
			}
		}
	}
	return j
}
