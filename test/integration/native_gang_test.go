package integration

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"stoic/cli/cluster"
	"stoic/schema"
	"stoic/training"
	"stoic/training/kinds"
)

// TestNativeGang: kube-scheduler itself places pods together, all or none (Kubernetes 1.36 and 1.37, with their feature gates).
func TestNativeGang(t *testing.T) {
	full(t)
	t.Parallel() // it mostly waits
	r := bareRig(t, cluster.Options{GangScheduling: true, CRDs: []string{filepath.Join(root, "deploy/crd")}})
	r.permit(t)
	sideBySide(t, r, map[string]func(*testing.T, *rig){
		"waits until it fits":    nativeGangFits,
		"pods after their group": nativeGangOrder,
		"of an MPIJob":           nativeGangOfMPI,
	})
}

// TestGangNotServed: where a gang scheduler's groups are not served, an event says why there are no pods; other jobs are not
// affected. Once Volcano is installed the job goes on.
func TestGangNotServed(t *testing.T) {
	full(t)
	t.Parallel() // it mostly waits
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
	t.Run("without CRD, then with it", func(t *testing.T) { gangWithoutCRD(t, r) })
}

// nativeVersion returns the version that the release of Kubernetes serves; empty before 1.36, whose pods name a Workload.
func nativeVersion() string {
	return map[string]string{"": "v1beta1", "1.36": "v1alpha2"}[release()]
}

func nativeKinds() (workloads, groups schema.Resource) {
	for _, v := range training.NativeVersions() {
		if v.Name == cmp.Or(nativeVersion(), "v1beta1") {
			return v.Kinds[0], v.Kinds[1]
		}
	}
	return workloads, groups
}

// scheduled returns the pods of a job that have a node.
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

// onGPUs returns a spec of workers that each need so many of a node's eight GPUs, on one node.
func onGPUs(node string, replicas, gpus int) string {
	return strings.Replace(endlessWith(fmt.Sprintf("resources: {limits: {nvidia.com/gpu: %d}}", gpus), fmt.Sprintf("replicas: %d\nrestartPolicy: OnFailure", replicas)),
		"          containers:", "          nodeSelector: {kubernetes.io/hostname: "+node+"}\n          containers:", 1)
}

// nativeGangFits: two of three pods would fit beside the existing ones; none is placed until all fit.
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

// nativeGangOrder: no pod is created before its Workload and its PodGroup exist.
func nativeGangOrder(t *testing.T, r *rig) {
	ns := r.namespace(t, "order")
	r.operator(t, ns, "--native-gang-scheduling")
	r.apply(t, ns, manifest("job", worker("", "replicas: 2")))
	workloads, groups := nativeKinds()
	workload, group := r.awaitDependent(t, workloads, ns, "job", true), r.awaitDependent(t, groups, ns, "job", true)
	// The API server adds its own defaults.
	for spec, of := range map[string]map[string]any{
		`{"controllerRef":{"apiGroup":"kubeflow.org","kind":"TFJob","name":"job"},"podGroupTemplates":[{"name":"pods","schedulingConstraints":null,"schedulingPolicy":{"gang":{"minCount":2}}}]}`: workload.Object,
		map[string]string{
			"v1alpha2": `{"disruptionMode":"Pod","podGroupTemplateRef":{"workload":{"podGroupTemplateName":"pods","workloadName":"job"}},"schedulingPolicy":{"gang":{"minCount":2}}}`,
			"v1beta1":  `{"disruptionMode":{"single":{}},"priority":0,"schedulingPolicy":{"gang":{"minCount":2}},"workloadRef":{"templateName":"pods","workloadName":"job"}}`,
		}[groups.Version]: group.Object,
	} {
		if got, _ := json.Marshal(of["spec"]); string(got) != spec {
			t.Errorf("the spec is %s, want %s", got, spec)
		}
	}
	r.awaitState(t, ns, "job", training.Succeeded)
	r.awaitDependent(t, groups, ns, "job", false)
	r.awaitDependent(t, workloads, ns, "job", false)
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

// awaitMinCount waits until the group of a job has so many members.
func (r *rig) awaitMinCount(t *testing.T, ns, job string, want int64) {
	t.Helper()
	_, groups := nativeKinds()
	await(t, fmt.Sprintf("minCount to be %d", want), func() (bool, string) {
		group := r.awaitDependent(t, groups, ns, job, true)
		found, _, _ := unstructured.NestedInt64(group.Object, "spec", "schedulingPolicy", "gang", "minCount")
		return found == want, fmt.Sprint(found)
	})
}

// nativeGangOfMPI: the workers are the gang, and the launcher, which is created when they run, joins it.
func nativeGangOfMPI(t *testing.T, r *rig) {
	r = r.of(kinds.MPIJob())
	ns := r.namespace(t, "native-mpi")
	r.operator(t, ns, "--native-gang-scheduling", "--enable-scheme", "MPIJob")
	// Workers that keep running would keep the group: the API server protects it.
	r.apply(t, ns, mpiManifest("pi", "\n  runPolicy: {cleanPodPolicy: Running}", 2, "3s"))
	r.awaitMinCount(t, ns, "pi", 2)
	r.awaitState(t, ns, "pi", training.Running)
	for _, pod := range []string{"pi-launcher", "pi-worker-0", "pi-worker-1"} {
		if group := r.pod(t, ns, pod).Spec.SchedulingGroup; group == nil || group.PodGroupName == nil || *group.PodGroupName != "pi" {
			t.Errorf("%s is not in the group: %+v", pod, group)
		}
	}
	r.awaitState(t, ns, "pi", training.Succeeded)
	_, groups := nativeKinds()
	r.awaitDependent(t, groups, ns, "pi", false)
}
