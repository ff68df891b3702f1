package integration

import (
	"fmt"
	"net/http"
	"path/filepath"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"stoic/cli/cluster"
	"stoic/schema"
	"stoic/test/operator"
	"stoic/training"
)

const separateServer = "apiextensions-apiserver"

// TestAggregatedCustomResources: a separate server behind the API server serves custom resources (docs/storage.md). The operator
// runs jobs and rejects malformed ones as usual. While the server is cut off for some time, requests for everything else are
// answered; when it is back, the operator continues by itself with the existing pods. An operator that starts meanwhile is alive,
// and not ready, as it does not know what exists.
func TestAggregatedCustomResources(t *testing.T) {
	full(t)
	t.Parallel() // it mostly waits
	r := bareRig(t, cluster.Options{CRs: cluster.CRsAggregated, CRDs: []string{filepath.Join(root, "deploy/crd")}})
	r.permit(t)
	ns, other, second := r.namespace(t, "separate"), r.namespace(t, "terminating"), r.namespace(t, "second")
	p := r.operator(t, ns)
	const worker = "\n  tfReplicaSpecs: {Worker: {template: {spec: {containers: [{name: tensorflow, image: x%s}]}}}}\n"
	r.apply(t, ns, manifest("short", fmt.Sprintf(worker, "")))
	r.apply(t, ns, manifest("long", fmt.Sprintf(worker, "")))
	r.apply(t, ns, manifest("wrong", fmt.Sprintf(worker, `, resources: {limits: {cpu: "1e1.5"}}`)))
	r.awaitState(t, ns, "short", training.Running)
	r.awaitState(t, ns, "long", training.Running)
	r.awaitRejected(t, ns, "wrong")
	before := r.podsIn(t, ns)

	if err := r.cluster.Kill(separateServer); err != nil {
		t.Fatal(err)
	}
	r.endPods(t, ns, "short")
	started := &process{operator.Started(t, r.operatorOptions(t, second))}
	started.answers(t, http.StatusServiceUnavailable)
	if err := r.typed.CoreV1().Namespaces().Delete(t.Context(), other, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	for begin, n := time.Now(), 0; time.Since(begin) < 15*time.Second; n++ { // this time is under test
		if _, err := r.typed.CoreV1().ConfigMaps(ns).Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint("meanwhile-", n)}}, metav1.CreateOptions{}); err != nil {
			t.Fatalf("the API server, %v after the other one ended: %v", time.Since(begin), err)
		}
		if _, err := r.jobs(ns).List(t.Context(), metav1.ListOptions{}); !apierrors.IsServiceUnavailable(err) {
			t.Fatalf("jobs are listed without their server: %v", err)
		}
		<-time.After(time.Second)
	}
	if space, err := r.typed.CoreV1().Namespaces().Get(t.Context(), other, metav1.GetOptions{}); err != nil || space.Status.Phase != corev1.NamespaceTerminating {
		t.Errorf("the namespace is %v (%v): what is in it cannot be known", space.Status.Phase, err)
	}
	if err := r.cluster.Revive(separateServer); err != nil {
		t.Fatal(err)
	}
	started.answers(t, http.StatusOK)
	r.apply(t, second, manifest("first", fmt.Sprintf(worker, "")))
	r.awaitState(t, second, "first", training.Running)
	r.awaitState(t, ns, "short", training.Succeeded)
	for name, uid := range before {
		if now := r.podsIn(t, ns)[name]; now != uid {
			t.Errorf("pod %s was %s and is %q: no pod was to be made again, or to go", name, uid, now)
		}
	}
	r.apply(t, ns, manifest("late", fmt.Sprintf(worker, "")))
	r.awaitState(t, ns, "late", training.Running)
	r.endPods(t, ns, "long")
	r.awaitState(t, ns, "long", training.Succeeded)
	await(t, "the namespace to go", func() (bool, string) {
		_, err := r.typed.CoreV1().Namespaces().Get(t.Context(), other, metav1.GetOptions{})
		return apierrors.IsNotFound(err), fmt.Sprint(err)
	})
	p.stop(t)
}

// endPods ends the pods of a job, as kubelets do when the containers have finished.
func (r *rig) endPods(t *testing.T, ns, job string) {
	t.Helper()
	names := r.pods(t, ns, job)
	if len(names) == 0 {
		t.Errorf("job %s has no pods", job)
	}
	for name := range names {
		mergePatch(t, r.client(schema.Pods(), ns), name, `{"status":{"phase":"Succeeded"}}`, "status")
	}
}
