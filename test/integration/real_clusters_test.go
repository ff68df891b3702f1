package integration

import (
	"context"
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"stoic/training"
	"stoic/training/kinds"
)

// TestRealClusters: what users meet in real clusters, with the shipped CRDs of all kinds: namespaces with rules, pods
// that others end, tools of Kubernetes.
func TestRealClusters(t *testing.T) {
	quick(t)
	t.Parallel() // it mostly waits
	sideBySide(t, withOperator(t), map[string]func(*testing.T, *rig){
		"a restricted namespace":  restrictedNamespace,
		"limits of the namespace": limitedNamespace,
	})
}

// manifestOf returns a job of a kind with a pod of each of two replica types (or two workers), which succeeds after a second. main and
// pod are added to the training container and to the pod, as YAML in flow style.
func manifestOf(kind *training.Kind, name, main, pod string) string {
	replicaTypes := ""
	for _, rtype := range []string{"Master", "Launcher", "Worker"} {
		if kind.ReplicaType(rtype) == nil || kind.Name == "TFJob" && rtype == "Master" {
			continue
		}
		replicaTypes += fmt.Sprintf(`
    %s:
      replicas: 1
      restartPolicy: OnFailure
      template:
        metadata: {annotations: %s}
        spec:
          containers: [{name: %s, image: "training:1", command: [train]%s}]%s`, rtype, ends("1s"), kind.Container, main, pod)
	}
	return fmt.Sprintf("apiVersion: %s\nkind: %s\nmetadata: {name: %s}\nspec:\n  %s:%s\n", kind.APIVersion(), kind.Name, name, kind.ReplicaSpecsField, replicaTypes)
}

// everyKind runs the job of each kind until it has succeeded.
func everyKind(t *testing.T, r *rig, ns, main, pod string) {
	t.Helper()
	for _, kind := range kinds.All() {
		r.apply(t, ns, manifestOf(kind, kind.Singular, main, pod))
	}
	for _, kind := range kinds.All() {
		r.of(kind).awaitState(t, ns, kind.Singular, training.Succeeded)
	}
}

// restrictedNamespace: a template that complies with the restricted level of Pod Security runs, whatever is added to it: with settings
// of the pod, and with settings of the container, where a user is named, and where the image names it.
func restrictedNamespace(t *testing.T, r *rig) {
	const container = `allowPrivilegeEscalation: false, capabilities: {drop: [ALL]}`
	for name, c := range map[string]struct{ main, pod string }{
		"pod": {`, securityContext: {` + container + `}`, `
          securityContext: {runAsNonRoot: true, seccompProfile: {type: RuntimeDefault}}`},
		"container": {`, securityContext: {` + container + `, runAsNonRoot: true, runAsUser: 1000, seccompProfile: {type: RuntimeDefault}}`, ""},
	} {
		ns := r.namespace(t, "restricted-"+name)
		r.serve(t, ns)
		r.kubectl(t, nil, "label", "namespace", ns, "pod-security.kubernetes.io/enforce=restricted")
		everyKind(t, r, ns, c.main, c.pod)
		launcher := r.pod(t, ns, "mpijob-launcher")
		security := launcher.Spec.InitContainers[0].SecurityContext
		if user := security.RunAsUser; user == nil || *user == 0 {
			t.Errorf("%s: the added container has no user: %+v", name, security)
		}
	}
}

// limitedNamespace: a LimitRange that admits nothing but the user's amounts, and a quota that pays for nothing else.
func limitedNamespace(t *testing.T, r *rig) {
	ns := r.namespace(t, "limited")
	r.serve(t, ns)
	r.kubectl(t, []byte(`
apiVersion: v1
kind: LimitRange
metadata: {name: exact}
spec: {limits: [{type: Container, min: {cpu: 200m, memory: 1Gi}, max: {cpu: 200m, memory: 1Gi}, maxLimitRequestRatio: {cpu: "1", memory: "1"}}]}
---
apiVersion: v1
kind: ResourceQuota
metadata: {name: exact}
spec: {hard: {requests.cpu: 400m, limits.cpu: 400m, requests.memory: 2Gi, limits.memory: 2Gi}}
`), "-n", ns, "create", "-f", "-")
	await(t, "the quota to hold", func() (bool, string) {
		out := r.kubectl(t, nil, "-n", ns, "get", "quota", "exact", "-o", `jsonpath={.status.hard.limits\.cpu}`)
		return out == "400m", out
	})
	const amounts = `, resources: {requests: {cpu: 200m, memory: 1Gi}, limits: {cpu: 200m, memory: 1Gi}}`
	for _, kind := range kinds.All() { // one after the other: the quota has room for one
		r.apply(t, ns, manifestOf(kind, kind.Singular, amounts, ""))
		r.of(kind).awaitState(t, ns, kind.Singular, training.Succeeded)
	}
	for _, pod := range []string{"pytorchjob-worker-0", "mpijob-launcher"} {
		if class := r.pod(t, ns, pod).Status.QOSClass; class != corev1.PodQOSGuaranteed {
			t.Errorf("%s is %s", pod, class)
		}
	}
}

// pod returns a pod, which must exist.
func (r *rig) pod(t *testing.T, ns, name string) *corev1.Pod {
	t.Helper()
	pod, err := r.typed.CoreV1().Pods(ns).Get(context.Background(), name, metav1.GetOptions{})
	if err != nil {
		t.Fatalf("get pod: %v", err)
	}
	return pod
}
