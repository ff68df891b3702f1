package integration

import (
	"context"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"stoic/training"
)

// deepObject: a job with as many levels of JSON as an API server stores is rejected like any other malformed one. Inside a list
// or an event it has more levels than any decoder accepts. It must not stop the operator from serving other jobs, neither a
// running operator nor one that starts.
func deepObject(t *testing.T, r *rig) {
	const ns, most = "deep", 10_000
	r.namespace(t, ns)
	r.apply(t, ns, manifest("before", worker("", "")))
	p := r.operator(t, ns)
	r.awaitState(t, ns, "before", training.Succeeded)

	above := `{"apiVersion":"kubeflow.org/v1","kind":"TFJob","metadata":{"name":"deep"},"spec":{"tfReplicaSpecs":{"Worker":{"template":{"spec":{` +
		`"containers":[{"name":"tensorflow","image":"training:1"}],"deep":`
	const levels = most - 6 // there are six above
	body := above + strings.Repeat("[", levels) + strings.Repeat("]", levels) + `}}}}}}`
	r.kubectl(t, []byte(body), "create", "--raw", "/apis/kubeflow.org/v1/namespaces/"+ns+"/tfjobs", "-f", "-")
	if _, kept, _ := unstructured.NestedFieldNoCopy(r.raw(t, ns, "deep").Object, "spec", "tfReplicaSpecs", "Worker", "template", "spec", "deep"); !kept {
		t.Skip("this CRD drops the field")
	}
	if _, err := r.jobs(ns).List(context.Background(), metav1.ListOptions{}); err == nil || !strings.Contains(err.Error(), "exceeded max depth") {
		t.Fatalf("the library reads a list with the object in it, so that this test shows nothing: %v", err)
	}
	checkRejected(t, r, ns, malformed{name: "deep", path: "spec.tfReplicaSpecs.Worker.template.spec.deep"})
	r.apply(t, ns, manifest("beside", worker("", "")))
	r.awaitState(t, ns, "beside", training.Succeeded)

	p.stop(t)
	r.operator(t, ns)
	r.apply(t, ns, manifest("after", worker("", "")))
	r.awaitState(t, ns, "after", training.Succeeded)
	r.kubectl(t, nil, "-n", ns, "delete", "--raw", "/apis/kubeflow.org/v1/namespaces/"+ns+"/tfjobs/deep") // other tests list all namespaces
	await(t, "the object to be gone", func() (bool, string) {
		u := r.raw(t, ns, "deep")
		return u == nil, ""
	})
}
