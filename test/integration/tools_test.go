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
	"stoic/training"
	"stoic/training/kinds"
)

// TestKubernetesTools: what Kubernetes offers for its own workloads works on jobs: kubectl scale up to the most that a job may have,
// drain with a disruption budget. TestKinds scales jobs of each kind.
func TestKubernetesTools(t *testing.T) {
	full(t)
	t.Parallel() // it mostly waits
	r := bareRig(t, cluster.Options{CRDs: []string{filepath.Join(root, "deploy/crd")}})
	r.permit(t)
	for _, kind := range kinds.All() {
		r.of(kind).awaitEstablished(t, kind)
	}
	r.operator(t, "")
	t.Run("scaled too far", func(t *testing.T) { toolsScaledTooFar(t, r) })
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
