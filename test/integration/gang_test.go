package integration

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	runtimeschema "k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	"stoic/schema"
	"stoic/training"
)

// TestGang: pods that a gang scheduler places. The test is the scheduler.
func TestGang(t *testing.T) {
	quick(t)
	t.Parallel() // it mostly waits
	sideBySide(t, shared(t), map[string]func(*testing.T, *rig){
		"from beginning to end":     gangFromBeginningToEnd,
		"changed":                   gangChanged,
		"with the plugin scheduler": gangWithPlugin,
		"by priority":               gangByPriority,
	})
}

const volcanoFixture, pluginFixture = "test/fixtures/podgroups-volcano.yaml", "test/fixtures/podgroups-plugin.yaml"

func (r *rig) client(of schema.Resource, ns string) dynamic.ResourceInterface {
	return r.dynamic.Resource(runtimeschema.GroupVersionResource{Group: of.Group, Version: of.Version, Resource: of.Plural}).Namespace(ns)
}

// awaitDependent waits until the object of a job exists, or no longer exists.
func (r *rig) awaitDependent(t *testing.T, of schema.Resource, ns, name string, want bool) *unstructured.Unstructured {
	t.Helper()
	var found *unstructured.Unstructured
	await(t, fmt.Sprintf("%s %s/%s to be there: %v", of.Kind, ns, name, want), func() (bool, string) {
		u, err := r.client(of, ns).Get(context.Background(), name, metav1.GetOptions{})
		if err != nil && !apierrors.IsNotFound(err) {
			t.Fatal(err)
		}
		found = u
		return (err == nil) == want, fmt.Sprint(err)
	})
	return found
}

// phase writes the phase, as Volcano does.
func (r *rig) phase(t *testing.T, ns, name, phase string) {
	t.Helper()
	patch := fmt.Sprintf(`{"status":{"phase":%q}}`, phase)
	if _, err := r.client(training.PodGroups(), ns).Patch(context.Background(), name, types.MergePatchType, []byte(patch), metav1.PatchOptions{}, "status"); err != nil {
		t.Fatalf("patch the status of PodGroup %s/%s: %v", ns, name, err)
	}
}

func (r *rig) awaitPods(t *testing.T, ns, job string, want int) {
	t.Helper()
	await(t, fmt.Sprintf("%d pods of %s/%s", want, ns, job), func() (bool, string) {
		pods := r.pods(t, ns, job)
		return len(pods) == want, fmt.Sprint(pods)
	})
}

func (r *rig) awaitReason(t *testing.T, ns, job, reason string) {
	t.Helper()
	await(t, "the event "+reason, func() (bool, string) {
		events := r.events(t, ns, job)
		return slices.ContainsFunc(events, func(e event) bool { return e.Reason == reason }), fmt.Sprint(events)
	})
}

// runnable has a template that names the existing scheduler: no Volcano scheduler places pods in this cluster.
func runnable(rtype, policy string) string {
	spec := strings.Replace(worker("", rtype), "          containers:", "          schedulerName: default-scheduler\n          containers:", 1)
	return spec + policy
}

// gangByPriority: the operator reads the cluster's PriorityClasses, with the permissions that it is installed with.
func gangByPriority(t *testing.T, r *rig) {
	ns := r.namespace(t, "by-priority")
	class := func(name string, value int) {
		r.kubectl(t, fmt.Appendf(nil, "apiVersion: scheduling.k8s.io/v1\nkind: PriorityClass\nmetadata: {name: %s}\nvalue: %d\n", name, value), "apply", "-f", "-")
	}
	class("by-priority-low", 10)
	r.operator(t, ns, "--gang-scheduler-name", "volcano")
	rtype := func(name, class, cpu string) string {
		return fmt.Sprintf(`
    %s:
      template:
        spec:
          priorityClassName: %s
          containers: [{name: tensorflow, image: "training:1", resources: {requests: {cpu: %q}}}]`, name, class, cpu)
	}
	r.apply(t, ns, manifest("job", "\n  runPolicy: {schedulingPolicy: {minAvailable: 1}}\n  tfReplicaSpecs:"+
		rtype("Chief", "by-priority-low", "1")+rtype("Worker", "by-priority-high", "8")))
	asks := func(what, cpu string) {
		await(t, what, func() (bool, string) {
			group, err := r.client(training.PodGroups(), ns).Get(context.Background(), "job", metav1.GetOptions{})
			if err != nil {
				return false, err.Error()
			}
			got, _, _ := unstructured.NestedString(group.Object, "spec", "minResources", "cpu")
			return got == cpu, fmt.Sprint(group.Object["spec"])
		})
	}
	asks("a group for the chief, as the other class is not there", "1")
	class("by-priority-high", 1000)
	asks("a group for the worker", "8")
}

func gangWithoutCRD(t *testing.T, r *rig) {
	ns := r.namespace(t, "no-crd")
	p := r.operator(t, ns, "--gang-scheduler-name", "volcano")
	r.apply(t, ns, manifest("job", worker("", "replicas: 2")))
	r.awaitReason(t, ns, "job", training.ReasonPodGroupUnavailable)
	if n, _ := p.metric(t, `training_operator_kind_served{kind="PodGroup"}`); n != 0 {
		t.Errorf("the metric says that PodGroups are served: %v", n)
	}
	// Errors in a job are reported nevertheless.
	r.apply(t, ns, manifest("wrong", "\n  tfReplicaSpecs: {}\n"))
	r.awaitState(t, ns, "wrong", training.Failed)
	r.kubectl(t, nil, "apply", "-f", filepath.Join(root, volcanoFixture))
	r.awaitDependent(t, training.PodGroups(), ns, "job", true)
	r.phase(t, ns, "job", "Inqueue")
	r.awaitPods(t, ns, "job", 2)
}

func gangFromBeginningToEnd(t *testing.T, r *rig) {
	ns := r.namespace(t, "gang")
	r.operator(t, ns, "--gang-scheduler-name", "Volcano")
	const policy = "  runPolicy: {schedulingPolicy: {queue: q, priorityClass: high}}\n"
	r.apply(t, ns, manifest("job", runnable("replicas: 2", policy)))
	group := r.awaitDependent(t, training.PodGroups(), ns, "job", true)
	want := `{"minMember":2,"priorityClassName":"high","queue":"q"}`
	if spec, _ := json.Marshal(group.Object["spec"]); string(spec) != want {
		t.Errorf("the group's spec is %s, want %s", spec, want)
	}
	if owners := group.GetOwnerReferences(); len(owners) != 1 || owners[0].Name != "job" || owners[0].Controller == nil || !*owners[0].Controller {
		t.Errorf("its owners are %+v", owners)
	}
	r.awaitReason(t, ns, "job", "SetPodTemplateSchedulerName")
	r.phase(t, ns, "job", "Pending")
	r.awaitReason(t, ns, "job", training.ReasonPodGroupNotAdmitted)
	if pods := r.pods(t, ns, "job"); len(pods) > 0 {
		t.Errorf("pods before their group was admitted: %v", pods)
	}
	r.phase(t, ns, "job", "Inqueue")
	r.awaitState(t, ns, "job", training.Running)
	pod, err := r.typed.CoreV1().Pods(ns).Get(context.Background(), "job-worker-1", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if got := pod.Annotations[training.AnnotationGroup] + " " + pod.Annotations[training.AnnotationTask] + " " + pod.Spec.SchedulerName; got != "job worker default-scheduler" {
		t.Errorf("the pod says %q", got)
	}
	r.awaitState(t, ns, "job", training.Succeeded)
	r.awaitDependent(t, training.PodGroups(), ns, "job", false)
	if n := r.written(t, ns, "patch", "podgroups"); n > 0 {
		t.Errorf("the group was updated %d times", n)
	}
}

// written counts the operator's writes of a resource in a namespace.
func (r *rig) written(t *testing.T, ns, verb, resource string) int {
	t.Helper()
	count := 0
	for _, q := range r.requests(t) {
		if q.Verb == verb && q.ObjectRef.Resource == resource && q.ObjectRef.Namespace == ns {
			count++
		}
	}
	return count
}

func gangChanged(t *testing.T, r *rig) {
	ns := r.namespace(t, "gang-changed")
	r.operator(t, ns, "--gang-scheduler-name", "volcano")
	r.apply(t, ns, manifest("job", worker("resources: {requests: {cpu: 500m, memory: 1Gi}}", "replicas: 2")))
	r.awaitDependent(t, training.PodGroups(), ns, "job", true)
	r.phase(t, ns, "job", "Inqueue")
	r.awaitPods(t, ns, "job", 2)
	// A user may move it to another queue and add to it.
	r.kubectl(t, nil, "-n", ns, "patch", "podgroups.scheduling.volcano.sh", "job", "--type=merge", "-p", `{"spec":{"queue":"other","minTaskMember":{"worker":2}}}`)
	r.kubectl(t, nil, "-n", ns, "patch", "tfjob", "job", "--type=merge", "-p",
		`{"spec":{"runPolicy":{"schedulingPolicy":{"minAvailable":1}},"tfReplicaSpecs":{"Worker":{"replicas":3}}}}`)
	r.awaitPods(t, ns, "job", 3)
	want := `{"minMember":1,"minResources":{"cpu":"500m","memory":"1Gi"},"minTaskMember":{"worker":2},"queue":"other"}`
	await(t, "the group to follow", func() (bool, string) {
		spec, _ := json.Marshal(r.awaitDependent(t, training.PodGroups(), ns, "job", true).Object["spec"])
		return string(spec) == want, string(spec)
	})
	if n := r.written(t, ns, "patch", "podgroups"); n != 1 {
		t.Errorf("the group was updated %d times for one change", n)
	}
}

func gangWithPlugin(t *testing.T, r *rig) {
	ns := r.namespace(t, "gang-plugin")
	r.operator(t, ns, "--gang-scheduler-name", "default-scheduler")
	r.apply(t, ns, manifest("job", worker("", "replicas: 2")+"  runPolicy: {schedulingPolicy: {scheduleTimeoutSeconds: 7}}\n"))
	group := r.awaitDependent(t, training.PluginPodGroups(), ns, "job", true)
	if spec, _ := json.Marshal(group.Object["spec"]); string(spec) != `{"minMember":2,"scheduleTimeoutSeconds":7}` {
		t.Errorf("the group's spec is %s", spec)
	}
	r.awaitState(t, ns, "job", training.Running)
	pod, err := r.typed.CoreV1().Pods(ns).Get(context.Background(), "job-worker-0", metav1.GetOptions{})
	if err != nil || pod.Labels[training.LabelGroup] != "job" {
		t.Errorf("the pod has the labels %v (%v)", pod.Labels, err)
	}
	r.awaitState(t, ns, "job", training.Succeeded)
	r.awaitDependent(t, training.PluginPodGroups(), ns, "job", false)
}
