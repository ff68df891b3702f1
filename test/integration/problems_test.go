package integration

import (
	"fmt"
	"strings"
	"testing"

	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"stoic/training"
)

// TestProblems: whatever the pod layer reports about a replica that cannot run becomes an event of the job, once, and is
// counted.
func TestProblems(t *testing.T) {
	quick(t)
	t.Parallel() // it mostly waits
	sideBySide(t, withOperator(t), map[string]func(*testing.T, *rig){
		"unschedulable":          unschedulable,
		"scheduling gates":       schedulingGated,
		"image":                  imageNotPulled,
		"preempted":              preempted,
		"evicted":                evicted,
		"quota":                  quotaExceeded,
		"limit range":            limitRangeExceeded,
		"no such priority class": noPriorityClass,
		"pod security":           podSecurity,
		"admission policy":       admissionPolicy,
	})
}

// podSpec returns a spec with further lines in the pod template, such as "nodeSelector: {a: b}".
func podSpec(lines, rtype string) string {
	return strings.Replace(endless("", rtype), "          containers:", "          "+lines+"\n          containers:", 1)
}

// counts awaits that the operator counts a problem. It does after the API server has stored the event, and shown it.
func (p *process) counts(t *testing.T, reason string) {
	t.Helper()
	await(t, reason+" to be counted", func() (bool, string) {
		n, found := p.metric(t, "training_operator_job_problems_total{", fmt.Sprintf("reason=%q", reason))
		return n > 0, fmt.Sprint(n, found)
	})
}

const tooMuch = "resources: {limits: {nvidia.com/gpu: 99}}"

// unschedulable: three pods cause one event.
func unschedulable(t *testing.T, r *rig) {
	ns := r.namespace(t, "unschedulable")
	p := r.serve(t, ns)
	r.apply(t, ns, manifest("job", endlessWith(tooMuch, "replicas: 3")))
	r.reportedOnce(t, ns, "job", training.ReasonPodUnschedulable, "Insufficient nvidia.com/gpu")
	p.counts(t, training.ReasonPodUnschedulable)
}

// endlessWith returns a spec whose containers have further lines.
func endlessWith(container, rtype string) string {
	return strings.Replace(worker(container, rtype), `{simulation.stoic/exit-code: "0", simulation.stoic/run-for: 1s}`, "{}", 1)
}

func schedulingGated(t *testing.T, r *rig) {
	ns := r.namespace(t, "gated")
	p := r.serve(t, ns)
	r.apply(t, ns, manifest("job", podSpec("schedulingGates: [{name: example.com/wait}]", "replicas: 2")))
	r.reportedOnce(t, ns, "job", training.ReasonPodSchedulingGated, "held back by scheduling gates")
	p.counts(t, training.ReasonPodSchedulingGated)
}

// imageNotPulled: the test acts as the kubelet, which reports two things in turn.
func imageNotPulled(t *testing.T, r *rig) {
	ns := r.namespace(t, "image")
	p := r.serve(t, ns)
	r.apply(t, ns, manifest("job", podSpec("schedulerName: nobody", "replicas: 1")))
	r.awaitPods(t, ns, "job", 1)
	says := func(reason string) {
		status := fmt.Sprintf(`{"status":{"containerStatuses":[{"name":"tensorflow","image":"training:1","imageID":"","ready":false,"restartCount":0,
			"state":{"waiting":{"reason":%q,"message":"no such image: training:1"}}}]}}`, reason)
		if _, err := r.typed.CoreV1().Pods(ns).Patch(t.Context(), "job-worker-0", types.StrategicMergePatchType, []byte(status), metav1.PatchOptions{}, "status"); err != nil {
			t.Fatal(err)
		}
	}
	for range 3 {
		says("ErrImagePull")
		r.reportedOnce(t, ns, "job", training.ReasonPodImageFailed, "pod job-worker-0: image cannot be pulled: container tensorflow: ErrImagePull: no such image: training:1")
		says("ImagePullBackOff")
	}
	says("CreateContainerConfigError")
	r.reportedOnce(t, ns, "job", training.ReasonPodContainerFailed, "CreateContainerConfigError")
	r.reportedOnce(t, ns, "job", training.ReasonPodImageFailed, "ErrImagePull")
	p.counts(t, training.ReasonPodImageFailed)
	p.counts(t, training.ReasonPodContainerFailed)
}

// preempted: the scheduler makes room for a job of a higher priority.
func preempted(t *testing.T, r *rig) {
	ns := r.namespace(t, "preempted")
	r.kubectl(t, []byte("apiVersion: scheduling.k8s.io/v1\nkind: PriorityClass\nmetadata: {name: urgent}\nvalue: 1000\n"), "apply", "-f", "-")
	p := r.serve(t, ns)
	const place, most = "nodeSelector: {kubernetes.io/hostname: node-1}", "resources: {requests: {cpu: 40}}"
	low := strings.Replace(endlessWith(most, "restartPolicy: OnFailure"), "          containers:", "          "+place+"\n          containers:", 1)
	r.apply(t, ns, manifest("low", low))
	r.awaitActive(t, ns, "low", 1)
	r.apply(t, ns, manifest("high", strings.Replace(low, place, place+"\n          priorityClassName: urgent", 1)))
	r.reportedOnce(t, ns, "low", training.ReasonPodPreempted, "pod low-worker-0: preempted by pods of a higher priority: PreemptionByScheduler")
	r.awaitActive(t, ns, "high", 1)
	r.reportedOnce(t, ns, "low", training.ReasonPodUnschedulable, "Insufficient cpu") // its successor
	p.counts(t, training.ReasonPodPreempted)
}

// evicted: as a drain does.
func evicted(t *testing.T, r *rig) {
	ns := r.namespace(t, "evicted")
	p := r.serve(t, ns)
	r.apply(t, ns, manifest("job", endless("", "replicas: 2")))
	r.awaitActive(t, ns, "job", 2)
	before := r.pods(t, ns, "job")
	if err := r.typed.CoreV1().Pods(ns).EvictV1(t.Context(), &policyv1.Eviction{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "job-worker-1"}}); err != nil {
		t.Fatal(err)
	}
	r.reportedOnce(t, ns, "job", training.ReasonPodEvicted, "pod job-worker-1: evicted: EvictionByEvictionAPI")
	await(t, "a successor", func() (bool, string) {
		pods := r.pods(t, ns, "job")
		return pods["job-worker-1"] != "" && pods["job-worker-1"] != before["job-worker-1"], fmt.Sprint(pods)
	})
	p.counts(t, training.ReasonPodEvicted)
}
