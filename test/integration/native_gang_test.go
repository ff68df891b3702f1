package integration

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"stoic/cli/cluster"
	"stoic/schema"
	"stoic/training"
	"stoic/training/kinds"
)

// TestNativeGang: kube-scheduler itself places pods together, all or none (Kubernetes 1.36, both feature gates).
func TestNativeGang(t *testing.T) {
	r := bareRig(t, cluster.Options{GangScheduling: true, CRDs: []string{filepath.Join(root, "deploy/crd")}})
	r.permit(t)
	sideBySide(t, r, map[string]func(*testing.T, *rig){
		"waits until it fits":        nativeGangFits,
		"pods after their group":     nativeGangOrder,
		"suspended and resumed":      nativeGangSuspended,
		"changed":                    nativeGangChanged,
		"a member succeeds":          nativeGangMemberSucceeds,
		"of another kind":            nativeGangOfPyTorch,
		"without the flag, no group": nativeGangOff,
	})
}

// TestNativeGangNotServed: the author reads why there are no pods; other jobs do not notice.
func TestNativeGangNotServed(t *testing.T) {
	r := bareRig(t, cluster.Options{CRDs: []string{filepath.Join(root, "deploy/crd/tfjobs.yaml")}})
	r.permit(t)
	ns := r.namespace(t, "not-served")
	r.operator(t, ns, "--native-gang-scheduling")
	r.apply(t, ns, manifest("job", worker("", "replicas: 2")))
	r.reportedOnce(t, ns, "job", training.ReasonPodGroupUnavailable, "in none of the versions v1beta1, v1alpha2, v1alpha1")
	if pods := r.pods(t, ns, "job"); len(pods) > 0 {
		t.Errorf("pods without a group: %v", pods)
	}
	r.apply(t, ns, manifest("wrong", "\n  tfReplicaSpecs: {}\n"))
	r.awaitState(t, ns, "wrong", training.Failed)
}

func nativeKinds() (workloads, groups schema.Resource) {
	for _, v := range training.NativeVersions() {
		if v.Name == "v1alpha2" {
			return v.Kinds[0], v.Kinds[1]
		}
	}
	return workloads, groups
}

// scheduled are the pods of a job that have a node.
func (r *rig) scheduled(t *testing.T, ns, job string) (names []string) {
	t.Helper()
	list, err := r.typed.CoreV1().Pods(ns).List(context.Background(), metav1.ListOptions{LabelSelector: training.LabelJob + "=" + job})
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range list.Items {
		if p.Spec.NodeName != "" {
			names = append(names, p.Name)
		}
	}
	return names
}

// onGPUs is a spec of workers that each need so many of a node's eight GPUs, on one node.
func onGPUs(node string, replicas, gpus int) string {
	return strings.Replace(endlessWith(fmt.Sprintf("resources: {limits: {nvidia.com/gpu: %d}}", gpus), fmt.Sprintf("replicas: %d\nrestartPolicy: OnFailure", replicas)),
		"          containers:", "          nodeSelector: {kubernetes.io/hostname: "+node+"}\n          containers:", 1)
}

// nativeGangFits: two of three pods would fit beside what is there; none is placed until all do.
func nativeGangFits(t *testing.T, r *rig) {
	ns := r.namespace(t, "fits")
	r.operator(t, ns, "--native-gang-scheduling")
	r.apply(t, ns, manifest("first", onGPUs("node-0", 1, 4)))
	r.awaitActive(t, ns, "first", 1)
	r.apply(t, ns, manifest("gang", onGPUs("node-0", 3, 2)))
	r.reportedOnce(t, ns, "gang", training.ReasonPodUnschedulable, "")
	await(t, "the scheduler to have looked at all of them", func() (bool, string) {
		list, err := r.typed.CoreV1().Pods(ns).List(context.Background(), metav1.ListOptions{LabelSelector: training.LabelJob + "=gang"})
		if err != nil {
			t.Fatal(err)
		}
		waiting := 0
		for _, p := range list.Items {
			if slices.ContainsFunc(p.Status.Conditions, func(c corev1.PodCondition) bool {
				return c.Type == corev1.PodScheduled && c.Status == corev1.ConditionFalse
			}) {
				waiting++
			}
		}
		return waiting == 3, fmt.Sprint(waiting)
	})
	if names := r.scheduled(t, ns, "gang"); len(names) > 0 {
		t.Errorf("placed without the others: %v", names)
	}
	r.kubectl(t, nil, "-n", ns, "delete", "tfjob", "first")
	r.awaitActive(t, ns, "gang", 3)
}

// nativeGangOrder: no pod is asked for before its Workload and its PodGroup are there.
func nativeGangOrder(t *testing.T, r *rig) {
	ns := r.namespace(t, "order")
	r.operator(t, ns, "--native-gang-scheduling")
	r.apply(t, ns, manifest("job", worker("", "replicas: 2")))
	workloads, groups := nativeKinds()
	workload, group := r.awaitExtra(t, workloads, ns, "job", true), r.awaitExtra(t, groups, ns, "job", true)
	// The API server adds its own defaults.
	for what, u := range map[string]map[string]any{
		`{"controllerRef":{"apiGroup":"kubeflow.org","kind":"TFJob","name":"job"},"podGroupTemplates":[{"name":"pods","schedulingConstraints":null,"schedulingPolicy":{"gang":{"minCount":2}}}]}`: workload.Object,
		`{"disruptionMode":"Pod","podGroupTemplateRef":{"workload":{"podGroupTemplateName":"pods","workloadName":"job"}},"schedulingPolicy":{"gang":{"minCount":2}}}`:                             group.Object,
	} {
		if spec, _ := json.Marshal(u["spec"]); string(spec) != what {
			t.Errorf("the spec is %s, want %s", spec, what)
		}
	}
	r.awaitState(t, ns, "job", training.Succeeded)
	r.awaitExtra(t, groups, ns, "job", false)
	r.awaitExtra(t, workloads, ns, "job", false)
	var order []string
	for _, q := range r.requestsIn(t, ns) {
		if q.Verb == "create" && q.ObjectRef.Resource != "events" && q.ResponseStatus.Code < 300 {
			order = append(order, q.ObjectRef.Resource)
		}
	}
	if len(order) != 6 || order[0] != "workloads" || order[1] != "podgroups" {
		t.Errorf("created in the order %v", order)
	}
	if n := r.written(t, ns, "patch", "podgroups") + r.written(t, ns, "patch", "workloads"); n > 0 {
		t.Errorf("the group was updated %d times", n)
	}
}

func nativeGangSuspended(t *testing.T, r *rig) {
	ns := r.namespace(t, "native-suspended")
	r.operator(t, ns, "--native-gang-scheduling")
	_, groups := nativeKinds()
	r.apply(t, ns, manifest("job", endless("", "replicas: 2")))
	r.awaitActive(t, ns, "job", 2)
	first := r.awaitExtra(t, groups, ns, "job", true)
	r.kubectl(t, nil, "-n", ns, "patch", "tfjob", "job", "--type=merge", "-p", `{"spec":{"runPolicy":{"suspend":true}}}`)
	r.awaitState(t, ns, "job", training.Suspended)
	r.awaitExtra(t, groups, ns, "job", false)
	r.awaitPods(t, ns, "job", 0)
	r.kubectl(t, nil, "-n", ns, "patch", "tfjob", "job", "--type=merge", "-p", `{"spec":{"runPolicy":{"suspend":false}}}`)
	r.awaitActive(t, ns, "job", 2)
	if second := r.awaitExtra(t, groups, ns, "job", true); second.GetUID() == first.GetUID() {
		t.Error("the group was not created again")
	}
}

// nativeGangChanged: a PodGroup of 1.36 stays as it was made. The author reads so, and further pods come all the same.
func nativeGangChanged(t *testing.T, r *rig) {
	ns := r.namespace(t, "native-changed")
	r.operator(t, ns, "--native-gang-scheduling")
	r.apply(t, ns, manifest("job", endless("", "replicas: 2")))
	r.awaitActive(t, ns, "job", 2)
	r.apply(t, ns, manifest("job", endless("", "replicas: 3")))
	r.awaitActive(t, ns, "job", 3)
	r.reportedOnce(t, ns, "job", training.ReasonUpdatePodGroupFailed, "immutable")
	r.apply(t, ns, manifest("job", endless("", "replicas: 1")))
	r.awaitPods(t, ns, "job", 1)
	r.awaitActive(t, ns, "job", 1)
	before := r.pods(t, ns, "job")
	r.kubectl(t, nil, "-n", ns, "delete", "pod", "job-worker-0", "--wait=false") // kubectl may take the next pod of this name for it
	await(t, "another pod that runs", func() (bool, string) {
		pods := r.pods(t, ns, "job")
		return pods["job-worker-0"] != "" && pods["job-worker-0"] != before["job-worker-0"] && r.head(t, ns, "job").Status.ReplicaStatuses["Worker"].Active == 1, fmt.Sprint(pods)
	})
}

// nativeGangMemberSucceeds: the scheduler does not count it any more; another member that is lost is replaced all the same.
func nativeGangMemberSucceeds(t *testing.T, r *rig) {
	ns := r.namespace(t, "native-succeeds")
	r.operator(t, ns, "--native-gang-scheduling")
	r.apply(t, ns, manifest("job", "\n  successPolicy: AllWorkers"+endless("", "replicas: 2")))
	r.awaitActive(t, ns, "job", 2)
	before := r.pods(t, ns, "job")
	r.kubectl(t, nil, "-n", ns, "annotate", "pod", "job-worker-0", "simulation.stoic/exit-code=0")
	await(t, "a success", func() (bool, string) {
		head := r.head(t, ns, "job")
		return head.Status.ReplicaStatuses["Worker"].Succeeded == 1, describe(&head.Status)
	})
	r.kubectl(t, nil, "-n", ns, "delete", "pod", "job-worker-1", "--wait=false")
	await(t, "another pod that runs", func() (bool, string) {
		pods := r.pods(t, ns, "job")
		return pods["job-worker-1"] != "" && pods["job-worker-1"] != before["job-worker-1"] && r.head(t, ns, "job").Status.ReplicaStatuses["Worker"].Active == 1, fmt.Sprint(pods)
	})
}

func nativeGangOfPyTorch(t *testing.T, r *rig) {
	r = r.of(kinds.PyTorchJob())
	ns := r.namespace(t, "native-pytorch")
	r.operator(t, ns, "--native-gang-scheduling", "--enable-scheme", "PyTorchJob")
	r.kubectl(t, []byte(`{"apiVersion":"kubeflow.org/v1","kind":"PyTorchJob","metadata":{"name":"job"},"spec":{"pytorchReplicaSpecs":{"Worker":{"replicas":2,
		"template":{"metadata":{"annotations":{"simulation.stoic/exit-code":"0","simulation.stoic/run-for":"1s"}},"spec":{"containers":[{"name":"pytorch","image":"training:1"}]}}}}}}`), "-n", ns, "create", "-f", "-")
	_, groups := nativeKinds()
	r.awaitExtra(t, groups, ns, "job", true)
	r.awaitState(t, ns, "job", training.Succeeded)
	r.awaitExtra(t, groups, ns, "job", false)
}

func nativeGangOff(t *testing.T, r *rig) {
	ns := r.namespace(t, "native-off")
	r.operator(t, ns)
	r.apply(t, ns, manifest("job", worker("", "")))
	r.awaitState(t, ns, "job", training.Succeeded)
	for _, q := range r.requestsIn(t, ns) {
		if q.ObjectRef.Resource == "workloads" || q.ObjectRef.Resource == "podgroups" {
			t.Errorf("%s %s", q.Verb, q.RequestURI)
		}
	}
}
