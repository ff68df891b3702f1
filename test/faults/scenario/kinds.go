package scenario

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// ofKinds returns one short scenario for each kind that has no longer ones.
func ofKinds() []Scenario {
	xgboost, paddle, jax := plainKind{"XGBoostJob", "xgbReplicaSpecs", "xgboost"}, plainKind{"PaddleJob", "paddleReplicaSpecs", "paddle"}, plainKind{"JAXJob", "jaxReplicaSpecs", "jax"}
	return []Scenario{
		{Name: "xgboost", Resource: xgboost.resource(), Manifest: xgboost.manifest("Running", "Never", "Master", "Worker"),
			Steps: []Step{end("master-0", 1, 0, run("worker-0"))},
			End:   all(state("Succeeded"), children("master-0 Succeeded"))},
		{Name: "paddle", Resource: paddle.resource(), Manifest: paddle.manifest("None", "OnFailure", "Worker", "Worker"),
			Steps: []Step{end("worker-0", 1, 0, run("worker-1")), end("worker-1", 1, 0, always)},
			End:   all(state("Succeeded"), children("worker-0 Succeeded", "worker-1 Succeeded"))},
		{Name: "jax", Resource: jax.resource(), Manifest: jax.manifest("All", "Never", "Worker", "Worker"),
			Steps: []Step{end("worker-1", 1, 1, run("worker-0"))},
			End:   all(state("Failed"), children())},
	}
}

// plainKind is what a manifest without options has of its kind.
type plainKind struct{ name, rtypes, container string }

func (k plainKind) resource() schema.GroupVersionResource {
	return schema.GroupVersionResource{Group: "kubeflow.org", Version: "v1", Resource: strings.ToLower(k.name) + "s"}
}

// manifest returns the manifest of a job with these replicas, by replica type.
func (k plainKind) manifest(clean, restart string, replicas ...string) func(string) string {
	var rtypes strings.Builder
	for _, name := range slices.Compact(slices.Sorted(slices.Values(replicas))) {
		n := len(slices.DeleteFunc(slices.Clone(replicas), func(other string) bool { return other != name }))
		fmt.Fprintf(&rtypes, "    %s: {replicas: %d, restartPolicy: %s, template: {spec: {containers: [{name: %s, image: \"training:1\"}]}}}\n", name, n, restart, k.container)
	}
	return func(job string) string {
		return fmt.Sprintf("apiVersion: kubeflow.org/v1\nkind: %s\nmetadata: {name: %s}\nspec:\n  runPolicy: {cleanPodPolicy: %s}\n  %s:\n%s", k.name, job, clean, k.rtypes, rtypes.String())
	}
}
