package integration

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"

	"stoic/schema"
	"stoic/training"
)

// The parts of TestProblems in which the API server rejects the pods of a job.

// quotaExceeded: there is one event, whichever pod is tried, and however much is used then.
func quotaExceeded(t *testing.T, r *rig) {
	ns := r.namespace(t, "quota-exceeded")
	p := r.operator(t, ns)
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
	p.countsOnce(t, string(schema.CauseQuota))
}

func limitRangeExceeded(t *testing.T, r *rig) {
	ns := r.namespace(t, "limit-range")
	p := r.operator(t, ns)
	r.kubectl(t, []byte("apiVersion: v1\nkind: LimitRange\nmetadata: {name: small}\nspec: {limits: [{type: Container, max: {cpu: 1}}]}\n"), "-n", ns, "create", "-f", "-")
	r.apply(t, ns, manifest("job", endlessWith("resources: {limits: {cpu: 2}}", "replicas: 3")))
	r.reportedOnce(t, ns, "job", training.ReasonCreatePodFailed, "maximum cpu usage per Container is 1, but limit is 2")
	p.countsOnce(t, string(schema.CauseLimitRange))
}

func noPriorityClass(t *testing.T, r *rig) {
	ns := r.namespace(t, "no-class")
	p := r.operator(t, ns)
	r.apply(t, ns, manifest("job", podSpec("priorityClassName: absent", "replicas: 3")))
	r.reportedOnce(t, ns, "job", training.ReasonCreatePodFailed, "no PriorityClass with name absent was found")
	p.countsOnce(t, string(schema.CausePriorityClass))
	r.kubectl(t, []byte("apiVersion: scheduling.k8s.io/v1\nkind: PriorityClass\nmetadata: {name: absent}\nvalue: 1\n"), "create", "-f", "-")
	r.awaitActive(t, ns, "job", 3)
}

// quotaWithinASecond measures from the API server's receipt of the rejected creation to the event of the job.
func quotaWithinASecond(t *testing.T, r *rig) {
	ns := r.namespace(t, "quota-within")
	p := r.operator(t, ns)
	r.kubectl(t, nil, "-n", ns, "create", "quota", "none", "--hard=pods=0")
	await(t, "the quota to hold", func() (bool, string) {
		out := r.kubectl(t, nil, "-n", ns, "get", "quota", "none", "-o", "jsonpath={.status.hard.pods}")
		return out == "0", out
	})
	prompt := newPromptness()
	for i := range 3 {
		name := fmt.Sprintf("job-%d", i)
		events, err := r.typed.CoreV1().Events(ns).Watch(t.Context(), metav1.ListOptions{FieldSelector: "involvedObject.name=" + name + ",reason=" + training.ReasonCreatePodFailed})
		if err != nil {
			t.Fatal(err)
		}
		jobs, err := r.jobs(ns).Watch(t.Context(), metav1.ListOptions{FieldSelector: "metadata.name=" + name})
		if err != nil {
			t.Fatal(err)
		}
		var seenAt, jobAt time.Time
		var watching sync.WaitGroup
		watching.Go(func() { seenAt = first(jobs, func(e watch.Event) bool { return e.Type == watch.Added }) })
		watching.Go(func() {
			jobAt = first(events, func(e watch.Event) bool { _, ok := e.Object.(*corev1.Event); return ok })
		})
		r.apply(t, ns, manifest(name, endless("", "replicas: 3")))
		watching.Wait()
		var refused time.Time
		await(t, "the refusal in the audit log", func() (bool, string) {
			for _, q := range r.requestsIn(t, ns) {
				if q.Verb == "create" && q.ObjectRef.Resource == "pods" && q.ResponseStatus.Code == 403 && strings.HasPrefix(q.ObjectRef.Name, name+"-") {
					refused = q.Received
					return true, ""
				}
			}
			return false, "none yet"
		})
		prompt.add(t, jobAt.Sub(refused), refused.Sub(seenAt))
	}
	prompt.check(t, "from the refusal of a pod to the event of its job")
	p.kill(t)
	again := r.operator(t, ns)
	await(t, "the events to be planned again", func() (bool, string) {
		known, _ := again.metric(t, `training_operator_events_total{result="known"}`)
		return known >= 3, fmt.Sprint(known)
	})
	for i := range 3 {
		r.reportedOnce(t, ns, fmt.Sprintf("job-%d", i), training.ReasonCreatePodFailed, "exceeded quota: none")
	}
}

func podSecurity(t *testing.T, r *rig) {
	ns := r.namespace(t, "pod-security")
	r.kubectl(t, nil, "label", "namespace", ns, "pod-security.kubernetes.io/enforce=restricted")
	p := r.operator(t, ns)
	r.apply(t, ns, manifest("job", endless("", "replicas: 3")))
	r.reportedOnce(t, ns, "job", training.ReasonCreatePodFailed, `violates PodSecurity "restricted`)
	p.countsOnce(t, string(schema.CausePodSecurity))
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
	p := r.operator(t, ns)
	r.apply(t, ns, manifest("job", endless("", "replicas: 3")))
	r.reportedOnce(t, ns, "job", training.ReasonCreatePodFailed, "no training here")
	p.countsOnce(t, string(schema.CausePolicy))
}
