package integration

import (
	"fmt"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"stoic/schema"
	"stoic/training"
)

// TestDeletedJobs: the status of a job that is being deleted follows its pods until the job is gone.
func TestDeletedJobs(t *testing.T) {
	quick(t)
	t.Parallel() // it mostly waits
	sideBySide(t, withOperator(t), map[string]func(*testing.T, *rig){
		"foreign finalizer": heldByFinalizer,
		"foreground":        deletedInForeground,
	})
	t.Run("namespace", func(t *testing.T) { deletedWithItsNamespace(t, shared(t)) })
}

// held returns the manifest of a job with a finalizer of another client.
func held(name, spec string) string {
	return strings.Replace(manifest(name, spec), "metadata:\n", "metadata:\n  finalizers: [example.com/hold]\n", 1)
}

// release removes all finalizers of a job that is being deleted.
func (r *rig) release(t *testing.T, ns, name string) {
	t.Helper()
	mergePatch(t, r.jobs(ns), name, `{"metadata":{"finalizers":null}}`)
	await(t, "the job to be gone", func() (bool, string) { return r.raw(t, ns, name) == nil, "it is there" })
}

// deleteJob deletes a job by a propagation policy.
func (r *rig) deleteJob(t *testing.T, ns, name string, policy metav1.DeletionPropagation) {
	t.Helper()
	if err := r.jobs(ns).Delete(t.Context(), name, metav1.DeleteOptions{PropagationPolicy: &policy}); err != nil {
		t.Fatal(err)
	}
}

// heldByFinalizer: a pod that another client deletes is not created again, the counts say so, and the end of the other pods is the
// success of the job. Then cleanPodPolicy applies.
func heldByFinalizer(t *testing.T, r *rig) {
	ns := r.namespace(t, "held")
	r.serve(t, ns)
	r.apply(t, ns, held("job", endless("cleanPodPolicy: All, ttlSecondsAfterFinished: 0", "replicas: 3")))
	r.awaitActive(t, ns, "job", 3)
	before := r.pods(t, ns, "job")
	r.deleteJob(t, ns, "job", metav1.DeletePropagationBackground)
	if err := r.typed.CoreV1().Pods(ns).Delete(t.Context(), "job-worker-2", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	r.awaitActive(t, ns, "job", 2)
	for name, uid := range r.pods(t, ns, "job") {
		if before[name] != uid {
			t.Errorf("pod %s was created for a job that is being deleted", name)
		}
	}
	mergePatch(t, r.client(schema.Pods(), ns), "job-worker-0", `{"status":{"phase":"Succeeded"}}`, "status")
	head := r.awaitState(t, ns, "job", training.Succeeded)
	if head.Meta.DeletionTimestamp == nil || head.Status.ObservedGeneration != head.Meta.Generation {
		t.Errorf("deleted at %v, observed generation %d of %d", head.Meta.DeletionTimestamp, head.Status.ObservedGeneration, head.Meta.Generation)
	}
	r.awaitPods(t, ns, "job", 0)
	r.reportedOnce(t, ns, "job", "TFJobSucceeded", "")
	r.release(t, ns, "job")
	for _, q := range r.requestsIn(t, ns) {
		if q.Verb == "delete" && q.ObjectRef.Resource == "tfjobs" {
			t.Errorf("the operator deleted the job: %s", q.RequestURI)
		}
	}
}

// deletedInForeground: garbage collection deletes the pods of a job before the job. That costs no write for each pod.
func deletedInForeground(t *testing.T, r *rig) {
	ns := r.namespace(t, "foreground")
	r.serve(t, ns)
	const replicas = 12
	r.apply(t, ns, manifest("job", endless("", fmt.Sprintf("replicas: %d", replicas))))
	r.awaitActive(t, ns, "job", replicas)
	writes := func() (n int) {
		for _, q := range r.requestsIn(t, ns) {
			if q.Verb == "patch" && q.ObjectRef.Resource == "tfjobs" {
				n++
			}
		}
		return n
	}
	before := writes()
	r.deleteJob(t, ns, "job", metav1.DeletePropagationForeground)
	await(t, "the job to be gone", func() (bool, string) { return r.raw(t, ns, "job") == nil, fmt.Sprint(r.pods(t, ns, "job")) })
	if n := writes() - before; n > 3 {
		t.Errorf("%d writes of the job while %d pods were deleted, want 3 at most", n, replicas)
	}
}

// deletedWithItsNamespace: a finalizer holds the job in a namespace that is being deleted. Its status is written, nothing is created, and
// its events, which the API server refuses there, are not sent again and again.
func deletedWithItsNamespace(t *testing.T, r *rig) {
	ns := r.namespace(t, "leaving")
	p := r.operator(t, ns)
	r.apply(t, ns, held("job", endless("", "replicas: 2")))
	r.awaitActive(t, ns, "job", 2)
	if err := r.typed.CoreV1().Namespaces().Delete(t.Context(), ns, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	r.awaitPods(t, ns, "job", 0)
	r.awaitActive(t, ns, "job", 0)
	mergePatch(t, r.jobs(ns), "job", `{"spec":{"runPolicy":{"activeDeadlineSeconds":1}}}`)
	r.awaitState(t, ns, "job", training.Failed)
	for seconds := range 3 { // each edit causes a reconcile
		mergePatch(t, r.jobs(ns), "job", fmt.Sprintf(`{"spec":{"runPolicy":{"activeDeadlineSeconds":%d}}}`, 10+seconds))
	}
	await(t, "the event to be refused", func() (bool, string) {
		refused, _ := p.metric(t, `training_operator_events_total{result="refused"}`)
		return refused > 0, fmt.Sprint(refused)
	})
	refused := map[string]int{}
	for _, q := range r.requestsIn(t, ns) {
		if q.ResponseStatus.Code == 403 {
			refused[q.Verb+" "+q.ObjectRef.Resource]++
		}
	}
	if refused["create events"] > 3 || refused["create pods"] > 1 || len(refused) > 2 {
		t.Errorf("refused requests: %v", refused)
	}
	r.release(t, ns, "job")
	p.stop(t)
}
