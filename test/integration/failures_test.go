package integration

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"stoic/training"
)

// unplaced returns a spec whose pods wait for a scheduler that does not exist.
func unplaced(policy, rtype string) string {
	if policy != "" {
		policy = "\n  runPolicy: {" + policy + "}"
	}
	return policy + podSpec("schedulerName: nobody", rtype)
}

// saysOfPod changes the status of a pod as its kubelet would.
func (r *rig) saysOfPod(t *testing.T, ns, pod, status string) {
	t.Helper()
	if _, err := r.typed.CoreV1().Pods(ns).Patch(t.Context(), pod, types.StrategicMergePatchType, []byte(`{"status":`+status+`}`), metav1.PatchOptions{}, "status"); err != nil {
		t.Fatal(err)
	}
}

// bindPod binds a pod to a node, as a scheduler would.
func (r *rig) bindPod(t *testing.T, ns, pod, node string) {
	t.Helper()
	binding := &corev1.Binding{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: pod}, Target: corev1.ObjectReference{Kind: "Node", Name: node}}
	if err := r.typed.CoreV1().Pods(ns).Bind(t.Context(), binding, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
}

// failedBy returns the status of a pod that has failed: its container ended with that code at a time in seconds ago.
func failedBy(code int, reason string, ago time.Duration, more string) string {
	at := time.Now().Add(-ago).UTC().Format(time.RFC3339)
	return fmt.Sprintf(`{"phase":"Failed"%s,"containerStatuses":[{"name":"tensorflow","image":"i","imageID":"","ready":false,"restartCount":0,
		"state":{"terminated":{"exitCode":%d,"reason":%q,"finishedAt":%q}}}]}`, more, code, reason, at)
}

// TestFailures: when all pods are gone, the condition, the event and the ledger still say which one failed first. The test is the
// kubelet of the pods: no scheduler places them.
func TestFailures(t *testing.T) {
	quick(t)
	t.Parallel() // it mostly waits
	r := withOperator(t)
	ns := r.namespace(t, "cause")
	r.serve(t, ns)
	r.apply(t, ns, manifest("job", unplaced("cleanPodPolicy: All", "replicas: 2\nrestartPolicy: Never")))
	r.awaitPods(t, ns, "job", 2)
	r.bindPod(t, ns, "job-worker-1", "gpu-7")
	r.saysOfPod(t, ns, "job-worker-1", failedBy(137, "OOMKilled", time.Second, ""))
	const failed = "pod job-worker-1, container tensorflow, exit code 137 (OOMKilled), node gpu-7"
	head := r.awaitState(t, ns, "job", training.Failed)
	if got := head.Status.Condition(training.Failed).Message; !strings.HasSuffix(got, " First: "+failed+".") {
		t.Errorf("message: %s", got)
	}
	r.awaitPods(t, ns, "job", 0)
	await(t, "the failure on record", func() (bool, string) {
		head = r.head(t, ns, "job")
		last := head.Ledger.LastFailure
		return last != nil && last.String() == failed, fmt.Sprintf("%+v", head.Ledger)
	})
	await(t, "one event that names the pod", func() (bool, string) {
		events := r.events(t, ns, "job")
		named := slices.DeleteFunc(slices.Clone(events), func(e event) bool { return e.Reason != "TFJobFailed" || !strings.Contains(e.Message, failed) })
		return len(named) == 1, fmt.Sprint(events)
	})
	r.kubectl(t, nil, "-n", ns, "patch", "tfjob", "job", "--subresource=status", "--type=json", "-p", `[{"op":"replace","path":"/status","value":{}}]`)
	head = r.awaitState(t, ns, "job", training.Failed)
	if got := head.Status.Condition(training.Failed).Message; !strings.Contains(got, failed) {
		t.Errorf("message of the restored condition: %s", got)
	}
}
