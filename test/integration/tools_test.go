package integration

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"stoic/cli/cluster"
	"stoic/schema"
	"stoic/training"
	"stoic/training/kinds"
)

// TestKubernetesTools: what Kubernetes offers for its own workloads works on jobs of every kind: kubectl scale, drain and wait,
// autoscalers, disruption budgets, services that programs of others read. MPIJobs of v2beta1 are in TestMPIJobV2Beta1.
func TestKubernetesTools(t *testing.T) {
	full(t)
	t.Parallel() // it mostly waits
	r := bareRig(t, cluster.Options{CRDs: []string{filepath.Join(root, "deploy/crd")}})
	r.permit(t)
	for _, kind := range kinds.All() {
		r.of(kind).awaitEstablished(t, kind)
	}
	r.operator(t, "")
	scenarios := map[string]func(*testing.T, *rig){
		"scaled too far":        toolsScaledTooFar,
		"scaled without Worker": toolsScaledWithoutWorker,
		"ports of services":     toolsPorts,
		"pods that are unready": toolsUnready,
	}
	t.Run("scenarios", func(t *testing.T) { sideBySide(t, r, scenarios) })
	t.Run("drained", func(t *testing.T) { toolsDrained(t, r) }) // it is the last one: nodes are cordoned
	nothingIsForbidden(t, r)
}

// workersManifest returns a job whose workers run on, with the other replica types that the kind requires.
func workersManifest(kind *training.Kind, name string, workers int) string {
	replicaSpecs := map[string]any{"Worker": replicaTypeOf(kind, workers, "OnFailure", nil)}
	for _, rtype := range kind.ReplicaTypes {
		if rtype.Required && rtype.Name != "Worker" {
			replicaSpecs[rtype.Name] = replicaTypeOf(kind, 1, "OnFailure", nil)
		}
	}
	return leading{kind: kind}.manifest(name, map[string]any{"cleanPodPolicy": "None"}, replicaSpecs)
}

// scaleOf returns the scale of a job of that name.
func (r *rig) scaleOf(t *testing.T, ns, name string) *autoscalingv1.Scale {
	t.Helper()
	path := "/apis/" + r.kind.APIVersion() + "/namespaces/" + ns + "/" + r.kind.Plural + "/" + name + "/scale"
	var scale autoscalingv1.Scale
	if err := json.Unmarshal([]byte(r.kubectl(t, nil, "get", "--raw", path)), &scale); err != nil {
		t.Fatal(err)
	}
	return &scale
}

// checkScale checks the scale of a job against its workers. The selector must select them and nothing else: autoscalers, also
// vertical ones, find the pods by it.
func (r *rig) checkScale(t *testing.T, ns, name string, workers int) {
	t.Helper()
	scale := r.scaleOf(t, ns, name)
	if int(scale.Spec.Replicas) != workers || int(scale.Status.Replicas) != workers {
		t.Errorf("the scale of %d workers is %+v", workers, scale)
	}
	var want, got []string
	for i := range workers {
		want = append(want, fmt.Sprintf("%s-worker-%d", name, i))
	}
	for _, pod := range r.podsWith(t, ns, scale.Status.Selector) {
		got = append(got, pod.Name)
	}
	slices.Sort(got)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%q selects (-want +got):\n%s", scale.Status.Selector, diff)
	}
}

// toolsScaledTooFar: the API server refuses more workers than a replica type can have; more replicas than a job can have are
// rejected, and its pods stay.
func toolsScaledTooFar(t *testing.T, r *rig) {
	r = r.of(kinds.XGBoostJob())
	ns := r.namespace(t, "too-far")
	r.apply(t, ns, workersManifest(r.kind, "job", 1))
	r.awaitActive(t, ns, "job", 1)
	out, err := r.tryKubectl(nil, "-n", ns, "scale", "xgboostjob/job", fmt.Sprint("--replicas=", training.MaxReplicas+1))
	if err == nil || !strings.Contains(err.Error()+out, "should be less than or equal to 20000") {
		t.Errorf("%v: %s", err, out)
	}
	r.kubectl(t, nil, "-n", ns, "scale", "xgboostjob/job", fmt.Sprint("--replicas=", training.MaxReplicas))
	r.awaitStalled(t, ns, "job", "spec.xgbReplicaSpecs: found 20001 replicas")
	if pods := r.pods(t, ns, "job"); len(pods) != 2 {
		t.Errorf("there are %v", pods)
	}
	r.kubectl(t, nil, "-n", ns, "scale", "xgboostjob/job", "--replicas=2")
	r.awaitActive(t, ns, "job", 2)
}

func (r *rig) awaitStalled(t *testing.T, ns, name, message string) {
	t.Helper()
	await(t, name+" to be rejected", func() (bool, string) {
		head := r.head(t, ns, name)
		stalled := head.Status.Condition(training.Stalled)
		return stalled != nil && stalled.Status == metav1.ConditionTrue && strings.Contains(stalled.Message, message), fmt.Sprint(stalled, describe(&head.Status))
	})
}

// toolsScaledWithoutWorker: a job that has no workers has no scale. If it is scaled all the same, it lacks a template, is
// rejected, and its pods stay.
func toolsScaledWithoutWorker(t *testing.T, r *rig) {
	r = r.of(kinds.TFJob())
	ns := r.namespace(t, "without-worker")
	r.apply(t, ns, leading{kind: r.kind}.manifest("job", map[string]any{}, map[string]any{"Chief": replicaTypeOf(r.kind, 1, "Never", nil)}))
	r.awaitState(t, ns, "job", training.Running)
	before := r.pods(t, ns, "job")
	out, err := r.tryKubectl(nil, "get", "--raw", "/apis/kubeflow.org/v1/namespaces/"+ns+"/tfjobs/job/scale")
	if err == nil {
		t.Errorf("it has the scale %s", out)
	}
	if _, err := r.tryKubectl(nil, "-n", ns, "scale", "tfjob/job", "--replicas=2"); err == nil {
		r.awaitStalled(t, ns, "job", "spec.tfReplicaSpecs.Worker.template")
	}
	if diff := cmp.Diff(before, r.pods(t, ns, "job")); diff != "" {
		t.Errorf("pods (-before +after):\n%s", diff)
	}
}

// toolsPorts: the services of a job declare every TCP port of its pods.
func toolsPorts(t *testing.T, r *rig) {
	r = r.of(kinds.TFJob())
	ns := r.namespace(t, "ports")
	r.apply(t, ns, `apiVersion: kubeflow.org/v1
kind: TFJob
metadata: {name: job}
spec:
  tfReplicaSpecs:
    Worker:
      replicas: 1
      template:
        spec:
          initContainers:
            - {name: proxy, image: i, restartPolicy: Always, ports: [{containerPort: 15090, name: metrics}]}
          containers:
            - {name: tensorflow, image: i, ports: [{containerPort: 2222, name: grpc}, {containerPort: 6006}, {containerPort: 81, name: port-6006}]}
            - {name: exporter, image: i, ports: [{containerPort: 9100, name: metrics}, {containerPort: 53, protocol: UDP}]}
`)
	r.awaitActive(t, ns, "job", 1)
	service, err := r.typed.CoreV1().Services(ns).Get(t.Context(), "job-worker-0", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, port := range service.Spec.Ports {
		got = append(got, fmt.Sprintf("%s=%d/%s to %s", port.Name, port.Port, port.Protocol, port.TargetPort.String()))
	}
	want := []string{"tfjob-port=2222/TCP to 2222", "port--6006=6006/TCP to 6006", "port-6006=81/TCP to 81", "metrics=9100/TCP to 9100", "port-15090=15090/TCP to 15090"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("ports (-want +got):\n%s", diff)
	}
	pod, err := r.typed.CoreV1().Pods(ns).Get(t.Context(), "job-worker-0", metav1.GetOptions{})
	if err != nil || len(pod.Spec.Containers[0].Ports) != 3 {
		t.Errorf("the training container has the ports %+v, %v", pod.Spec.Containers, err)
	}
}

// toolsUnready: the address of a pod that is not ready is published, for the pods that it waits for.
func toolsUnready(t *testing.T, r *rig) {
	r = r.of(kinds.PyTorchJob())
	ns := r.namespace(t, "unready")
	r.apply(t, ns, workersManifest(r.kind, "job", 1))
	r.awaitActive(t, ns, "job", 1)
	r.kubectl(t, nil, "-n", ns, "patch", "pod", "job-worker-0", "--subresource=status", "-p", string(schema.JSON(map[string]any{
		"status": map[string]any{"conditions": []any{map[string]any{"type": "Ready", "status": "False"}}}})))
	await(t, "the address of a pod that is not ready", func() (bool, string) {
		found, err := r.typed.DiscoveryV1().EndpointSlices(ns).List(t.Context(), metav1.ListOptions{LabelSelector: "kubernetes.io/service-name=job-worker-0"})
		if err != nil || len(found.Items) != 1 || len(found.Items[0].Endpoints) != 1 {
			return false, fmt.Sprint(found, err)
		}
		conditions := found.Items[0].Endpoints[0].Conditions
		isServing := conditions.Serving == nil || *conditions.Serving
		isReady := conditions.Ready == nil || *conditions.Ready
		return isReady && !isServing, fmt.Sprint(found.Items[0].Endpoints)
	})
}

// toolsDrained: a disruption budget over the pods of a job lets kubectl drain evict them one after the other, and they come back.
func toolsDrained(t *testing.T, r *rig) {
	r = r.of(kinds.TFJob())
	ns := r.namespace(t, "drained")
	nodes, err := r.typed.CoreV1().Nodes().List(t.Context(), metav1.ListOptions{})
	if err != nil || len(nodes.Items) < 2 {
		t.Fatalf("%d nodes, %v", len(nodes.Items), err)
	}
	drained := nodes.Items[0].Name
	for _, node := range nodes.Items[1:] {
		r.kubectl(t, nil, "cordon", node.Name)
	}
	const job = "drained" // drain selects pods of all namespaces; other jobs are called "job"
	r.apply(t, ns, workersManifest(r.kind, job, 3))
	r.awaitActive(t, ns, job, 3)
	before := r.pods(t, ns, job)
	for _, node := range nodes.Items[1:] {
		r.kubectl(t, nil, "uncordon", node.Name)
	}
	r.kubectl(t, nil, "-n", ns, "create", "poddisruptionbudget", job, "--selector="+training.LabelJob+"="+job, "--max-unavailable=1")
	r.awaitBudget(t, ns, job, 3)
	r.kubectl(t, nil, "drain", drained, "--pod-selector="+training.LabelJob+"="+job, "--timeout=90s")
	r.awaitActive(t, ns, job, 3)
	for _, pod := range r.podsWith(t, ns, training.LabelJob+"="+job) {
		if before[pod.Name] == string(pod.UID) || pod.Spec.NodeName == drained {
			t.Errorf("%s is still on %s", pod.Name, pod.Spec.NodeName)
		}
	}
	r.awaitBudget(t, ns, job, 3)
	if head := r.head(t, ns, job); head.Status.Terminal() != "" {
		t.Errorf("it is %s", describe(&head.Status))
	}
}

// awaitBudget waits until one of so many pods may be disrupted.
func (r *rig) awaitBudget(t *testing.T, ns, name string, expected int32) {
	t.Helper()
	await(t, "the budget to be known", func() (bool, string) {
		budget, err := r.typed.PolicyV1().PodDisruptionBudgets(ns).Get(context.Background(), name, metav1.GetOptions{})
		if err != nil {
			return false, err.Error()
		}
		s := budget.Status
		allowed := meta.FindStatusCondition(s.Conditions, policyv1.DisruptionAllowedCondition)
		return s.ExpectedPods == expected && s.DisruptionsAllowed == 1 && allowed != nil && allowed.Reason == policyv1.SufficientPodsReason, fmt.Sprintf("%+v", s)
	})
}
