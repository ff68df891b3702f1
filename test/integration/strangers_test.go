package integration

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"stoic/training"
)

// object returns what changes if a client writes an object.
func (r *rig) object(t *testing.T, ns, resource, name string) string {
	t.Helper()
	return r.kubectl(t, nil, "-n", ns, "get", resource, name, "-o", "jsonpath={.metadata.uid} {.metadata.resourceVersion} {.metadata.deletionTimestamp}")
}

// foreignService: two services are not changed, even when the job is cleaned up: one with the name of one of ours, and one that
// `kubectl expose` created of one of our pods and that has all our labels.
func foreignService(t *testing.T, r *rig) {
	ns := r.namespace(t, "services")
	r.serve(t, ns)
	r.kubectl(t, nil, "-n", ns, "create", "service", "clusterip", "job-worker-1", "--tcp=80")
	taken := r.object(t, ns, "service", "job-worker-1")
	r.apply(t, ns, manifest("job", endless("cleanPodPolicy: All", "replicas: 3")))
	r.awaitActive(t, ns, "job", 3)
	r.reportedOnce(t, ns, "job", "NameConflict", "job-worker-1 already exists and is not managed by ")
	r.kubectl(t, nil, "-n", ns, "expose", "pod", "job-worker-0", "--name=exposed", "--port=80")
	exposed := r.object(t, ns, "service", "exposed")
	r.kubectl(t, nil, "-n", ns, "annotate", "pod", "job-worker-0", "simulation.stoic/exit-code=0")
	r.awaitState(t, ns, "job", training.Succeeded)
	await(t, "only the others' services", func() (bool, string) {
		out := sorted(r.kubectl(t, nil, "-n", ns, "get", "services,pods", "-o", "jsonpath={.items[*].metadata.name}"))
		return out == "exposed job-worker-1", out
	})
	if diff := cmp.Diff([]string{taken, exposed}, []string{r.object(t, ns, "service", "job-worker-1"), r.object(t, ns, "service", "exposed")}); diff != "" {
		t.Errorf("others' services were touched (-before +after):\n%s", diff)
	}
}

// otherOwner: a pod under one of our names that another controller owns, of the same name and another kind.
func otherOwner(t *testing.T, r *rig) {
	ns := r.namespace(t, "kinds")
	r.serve(t, ns)
	r.kubectl(t, nil, "-n", ns, "create", "configmap", "job")
	uid := r.kubectl(t, nil, "-n", ns, "get", "configmap", "job", "-o", "jsonpath={.metadata.uid}")
	r.kubectl(t, []byte(fmt.Sprintf(`{"apiVersion":"v1","kind":"Pod","metadata":{"name":"job-worker-0","labels":%s,
		"ownerReferences":[{"apiVersion":"v1","kind":"ConfigMap","name":"job","uid":%q,"controller":true}]},
		"spec":{"containers":[{"name":"other","image":"other:1"}]}}`, labelsOf("job", 0), uid)), "-n", ns, "create", "-f", "-")
	before := r.pods(t, ns, "job")["job-worker-0"]
	r.apply(t, ns, manifest("job", endless("cleanPodPolicy: All", "replicas: 2")))
	r.awaitActive(t, ns, "job", 1)
	r.reportedOnce(t, ns, "job", "NameConflict", "job-worker-0 already exists and is not managed by ")
	r.kubectl(t, nil, "-n", ns, "patch", "tfjob", "job", "--type=merge", "-p", `{"spec":{"runPolicy":{"suspend":true}}}`)
	r.awaitState(t, ns, "job", training.Suspended)
	await(t, "our pod to go", func() (bool, string) {
		pods := r.pods(t, ns, "job")
		return len(pods) == 1, fmt.Sprint(pods)
	})
	if after := r.pods(t, ns, "job")["job-worker-0"]; after != before {
		t.Errorf("the other's pod was %s and is %q", before, after)
	}
}

// labelsEdited: the name and owner of a pod identify it, not its labels.
func labelsEdited(t *testing.T, r *rig) {
	ns := r.namespace(t, "labels")
	p := r.serve(t, ns)
	r.apply(t, ns, manifest("job", endless("", "replicas: 3")))
	r.apply(t, ns, manifest("other", endless("", "replicas: 2")))
	r.awaitActive(t, ns, "job", 3)
	r.awaitActive(t, ns, "other", 2)
	all := func() string {
		return r.kubectl(t, nil, "-n", ns, "get", "pods,services", "-o", `jsonpath={range .items[*]}{.kind}/{.metadata.name}={.metadata.uid}{"\n"}{end}`)
	}
	before := all()
	for _, label := range []string{"replica-index=5000", "replica-index=2000000000", "replica-index=", "replica-type=ps",
		"replica-type=boss", "job-name=other"} {
		for _, object := range []string{"pod/job-worker-1", "service/job-worker-2"} {
			r.kubectl(t, nil, "-n", ns, "label", "--overwrite", object, "training.kubeflow.org/"+label)
		}
		// A write by the user triggers a reconcile, which sees the labels.
		r.kubectl(t, nil, "-n", ns, "patch", "tfjob", "job", "--subresource=status", "--type=merge", "-p", `{"status":{"conditions":[]}}`)
		r.awaitState(t, ns, "job", training.Running)
		if diff := cmp.Diff(before, all()); diff != "" {
			t.Fatalf("after %s (-before +after):\n%s", label, diff)
		}
	}
	r.awaitActive(t, ns, "job", 3)
	r.awaitActive(t, ns, "other", 2)
	if n, _ := p.metric(t, "training_operator_panics_total"); n != 0 {
		t.Errorf("%v reconciles panicked", n)
	}
}
