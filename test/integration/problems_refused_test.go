package integration

import (
	"strings"
	"testing"

	"stoic/schema"
	"stoic/training"
)

// The parts of TestProblems in which the API server rejects the pods of a job.

// quotaExceeded: there is one event, whichever pod is tried, and however much is used then.
func quotaExceeded(t *testing.T, r *rig) {
	ns := r.namespace(t, "quota-exceeded")
	p := r.serve(t, ns)
	r.kubectl(t, nil, "-n", ns, "create", "quota", "small", "--hard=pods=1")
	await(t, "the quota to hold", func() (bool, string) {
		out := r.kubectl(t, nil, "-n", ns, "get", "quota", "small", "-o", "jsonpath={.status.hard.pods}")
		return out == "1", out
	})
	r.apply(t, ns, manifest("job", endless("", "replicas: 3")))
	r.awaitActive(t, ns, "job", 1)
	r.reportedOnce(t, ns, "job", training.ReasonCreatePodFailed, "exceeded quota: small")
	r.kubectl(t, nil, "-n", ns, "patch", "quota", "small", "--type=merge", "-p", `{"spec":{"hard":{"pods":"2"}}}`)
	r.awaitActive(t, ns, "job", 2)
	r.reportedOnce(t, ns, "job", training.ReasonCreatePodFailed, "exceeded quota: small")
	p.counts(t, string(schema.CauseQuota))
}

func limitRangeExceeded(t *testing.T, r *rig) {
	ns := r.namespace(t, "limit-range")
	p := r.serve(t, ns)
	r.kubectl(t, []byte("apiVersion: v1\nkind: LimitRange\nmetadata: {name: small}\nspec: {limits: [{type: Container, max: {cpu: 1}}]}\n"), "-n", ns, "create", "-f", "-")
	r.apply(t, ns, manifest("job", endlessWith("resources: {limits: {cpu: 2}}", "replicas: 3")))
	r.reportedOnce(t, ns, "job", training.ReasonCreatePodFailed, "maximum cpu usage per Container is 1, but limit is 2")
	p.counts(t, string(schema.CauseLimitRange))
}

func noPriorityClass(t *testing.T, r *rig) {
	ns := r.namespace(t, "no-class")
	p := r.serve(t, ns)
	r.apply(t, ns, manifest("job", podSpec("priorityClassName: absent", "replicas: 3")))
	r.reportedOnce(t, ns, "job", training.ReasonCreatePodFailed, "no PriorityClass with name absent was found")
	p.counts(t, string(schema.CausePriorityClass))
	r.kubectl(t, []byte("apiVersion: scheduling.k8s.io/v1\nkind: PriorityClass\nmetadata: {name: absent}\nvalue: 1\n"), "create", "-f", "-")
	r.awaitActive(t, ns, "job", 3)
}

func podSecurity(t *testing.T, r *rig) {
	ns := r.namespace(t, "pod-security")
	r.kubectl(t, nil, "label", "namespace", ns, "pod-security.kubernetes.io/enforce=restricted")
	p := r.serve(t, ns)
	r.apply(t, ns, manifest("job", endless("", "replicas: 3")))
	r.reportedOnce(t, ns, "job", training.ReasonCreatePodFailed, `violates PodSecurity "restricted`)
	p.counts(t, string(schema.CausePodSecurity))
	r.kubectl(t, nil, "label", "namespace", ns, "pod-security.kubernetes.io/enforce-")
	r.awaitActive(t, ns, "job", 3)
	r.reportedOnce(t, ns, "job", training.ReasonCreatePodFailed, "")
}

func admissionPolicy(t *testing.T, r *rig) {
	ns := r.namespace(t, "policy")
	r.kubectl(t, []byte(`apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: no-training}
spec:
  failurePolicy: Fail
  matchConstraints: {resourceRules: [{apiGroups: [""], apiVersions: [v1], operations: [CREATE], resources: [pods]}]}
  validations: [{expression: "!object.spec.containers.exists(c, c.image.startsWith('training:'))", message: no training here}]
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: no-training}
spec: {policyName: no-training, validationActions: [Deny], matchResources: {namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: policy}}}}
`), "apply", "-f", "-")
	await(t, "the policy to be in force", func() (bool, string) {
		out, err := r.tryKubectl(nil, "-n", ns, "run", "try", "--image=training:1", "--dry-run=server")
		return err != nil && strings.Contains(out, "no training here"), out
	})
	p := r.serve(t, ns)
	r.apply(t, ns, manifest("job", endless("", "replicas: 3")))
	r.reportedOnce(t, ns, "job", training.ReasonCreatePodFailed, "no training here")
	p.counts(t, string(schema.CausePolicy))
}
