package integration

import (
	"fmt"
	"strings"
	"testing"

	"stoic/training"
	"stoic/training/kinds"
)

// quotaLifted: two of four pods fit. The status reports those that run; the others are created when there is room.
func quotaLifted(t *testing.T, r *rig) {
	ns := r.namespace(t, "quota")
	r.operator(t, ns)
	r.kubectl(t, nil, "-n", ns, "create", "quota", "small", "--hard=pods=2")
	await(t, "the quota to hold", func() (bool, string) {
		out := r.kubectl(t, nil, "-n", ns, "get", "quota", "small", "-o", "jsonpath={.status.hard.pods}")
		return out == "2", out
	})
	r.apply(t, ns, manifest("job", endless("", "replicas: 4")))
	r.awaitActive(t, ns, "job", 2)
	r.reportedOnce(t, ns, "job", "FailedCreatePod", "exceeded quota: small")
	before := r.pods(t, ns, "job")
	r.kubectl(t, nil, "-n", ns, "delete", "quota", "small")
	r.awaitActive(t, ns, "job", 4)
	r.checkKept(t, ns, "job", before)
}

// admissionLifted: what a policy rejects is reported once and retried automatically. (A rejection as invalid is retried, too, but
// only every five minutes: most of these persist.)
func admissionLifted(t *testing.T, r *rig) {
	ns := r.namespace(t, "admission")
	r.operator(t, ns)
	r.kubectl(t, []byte(`
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: no-latest}
spec:
  failurePolicy: Fail
  matchConstraints:
    namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: `+ns+`}}
    resourceRules: [{apiGroups: [""], apiVersions: [v1], operations: [CREATE], resources: [pods]}]
  validations: [{expression: "object.spec.containers.all(c, c.image != 'training:1')", reason: Forbidden, message: "image training:1 is not for everybody"}]
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: no-latest}
spec: {policyName: no-latest, validationActions: [Deny]}
`), "create", "-f", "-")
	t.Cleanup(func() {
		r.kubectl(t, nil, "delete", "--ignore-not-found", "validatingadmissionpolicybinding/no-latest", "validatingadmissionpolicy/no-latest")
	})
	await(t, "the policy to hold", func() (bool, string) {
		out, err := r.tryKubectl(nil, "-n", ns, "run", "probe", "--image=training:1", "--dry-run=server")
		return err != nil && strings.Contains(out, "not for everybody"), out
	})
	r.apply(t, ns, manifest("job", endless("", "replicas: 2")))
	r.reportedOnce(t, ns, "job", "FailedCreatePod", "image training:1 is not for everybody")
	if head := r.awaitState(t, ns, "job", training.Created); len(r.pods(t, ns, "job")) > 0 {
		t.Errorf("there are pods: %s", describe(&head.Status))
	}
	r.kubectl(t, nil, "delete", "validatingadmissionpolicybinding", "no-latest")
	r.awaitActive(t, ns, "job", 2)
	r.reportedOnce(t, ns, "job", "FailedCreatePod", "not for everybody")
}

// namespaceDeleted: no client creates pods in a namespace that is being deleted, and the operator does not try to.
func namespaceDeleted(t *testing.T, r *rig) {
	ns := r.namespace(t, "going")
	r.operator(t, ns) // of this namespace alone, so that its requests can be distinguished from others'
	for i := range 3 {
		r.apply(t, ns, manifest(fmt.Sprintf("job-%d", i), endless("", "replicas: 5")))
	}
	for i := range 3 {
		r.awaitActive(t, ns, fmt.Sprintf("job-%d", i), 5)
	}
	before := len(writes(r.requestsIn(t, ns)))
	r.kubectl(t, nil, "delete", "namespace", ns, "--wait=true", "--timeout=3m")
	refused, counts := map[string]int{}, map[string]int{}
	for _, q := range writes(r.requestsIn(t, ns))[before:] {
		counts[fmt.Sprint(q.Verb, " ", q.ObjectRef.Resource, " ", q.ResponseStatus.Code)]++
		if q.Verb == "create" && q.ObjectRef.Resource != "events" && q.ResponseStatus.Code >= 400 {
			job, _, _ := strings.Cut(q.ObjectRef.Name, "-worker-")
			refused[job]++
		}
	}
	t.Log(counts)
	// Fifteen pods are deleted: at most one write of a status for each, beside the rejected creations.
	if n := counts["patch "+kinds.TFJob().Plural+" 200"]; n > 15 {
		t.Errorf("%d writes of statuses: %v", n, counts)
	}
	for job, n := range refused {
		if n > 1 {
			t.Errorf("%d refused creations for %q in a namespace that is being deleted, want one at most; writes: %v", n, job, counts)
		}
	}
}
