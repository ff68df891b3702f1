package integration

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"

	"stoic/cli/cluster"
	"stoic/training"
	"stoic/training/kinds"
	"stoic/training/kinds/v2beta1"
)

// TestProblems: whatever the pod layer reports about a replica that cannot run becomes an event of the job, once, within a
// second, and is counted.
func TestProblems(t *testing.T) {
	t.Parallel() // it mostly waits
	r := bareRig(t, cluster.Options{CRDs: []string{filepath.Join(root, "deploy/crd/tfjobs.yaml"), filepath.Join(root, "deploy/mpijob-v2beta1/mpijobs.yaml")}})
	r.permit(t, "deploy/mpijob-v2beta1/rbac.yaml")
	sideBySide(t, r, map[string]func(*testing.T, *rig){
		"unschedulable":          unschedulable,
		"within a second":        problemWithinASecond,
		"scheduling gates":       schedulingGated,
		"image":                  imageNotPulled,
		"preempted":              preempted,
		"evicted":                evicted,
		"quota":                  quotaExceeded,
		"limit range":            limitRangeExceeded,
		"no such priority class": noPriorityClass,
		"image within a second":  imageWithinASecond,
		"quota within a second":  quotaWithinASecond,
		"pod security":           podSecurity,
		"admission policy":       admissionPolicy,
		"launcher":               launcherProblems,
	})
}

// podSpec returns a spec with further lines in the pod template, such as "nodeSelector: {a: b}".
func podSpec(lines, rtype string) string {
	return strings.Replace(endless("", rtype), "          containers:", "          "+lines+"\n          containers:", 1)
}

// counted returns the operator's count for a reason.
func (p *process) counted(t *testing.T, reason string) float64 {
	t.Helper()
	sum, _ := p.metric(t, "training_operator_job_problems_total{", fmt.Sprintf("reason=%q", reason))
	return sum
}

func (p *process) countsOnce(t *testing.T, reason string) {
	t.Helper()
	p.counts(t, reason, 1)
}

// counts awaits the operator's count for a reason: it counts an event after the API server has stored it, and shown it.
func (p *process) counts(t *testing.T, reason string, want float64) {
	t.Helper()
	var n float64
	await(t, reason+" to be counted", func() (bool, string) {
		n = p.counted(t, reason)
		return n >= want, fmt.Sprint(n)
	})
	if n != want {
		t.Errorf("%s is counted %v times, want %v", reason, n, want)
	}
}

const tooMuch = "resources: {limits: {nvidia.com/gpu: 99}}"

// unschedulable: three pods cause one event, also after a restart of the operator.
func unschedulable(t *testing.T, r *rig) {
	ns := r.namespace(t, "unschedulable")
	p := r.operator(t, ns)
	r.apply(t, ns, manifest("job", endlessWith(tooMuch, "replicas: 3")))
	r.reportedOnce(t, ns, "job", training.ReasonPodUnschedulable, "Insufficient nvidia.com/gpu")
	p.countsOnce(t, training.ReasonPodUnschedulable)
	p.kill(t)
	again := r.operator(t, ns)
	r.apply(t, ns, manifest("other", endlessWith(tooMuch, "")))
	r.reportedOnce(t, ns, "other", training.ReasonPodUnschedulable, "pod other-worker-0: cannot be scheduled")
	r.reportedOnce(t, ns, "job", training.ReasonPodUnschedulable, "")
	await(t, "both to have been sent", func() (bool, string) {
		known, _ := again.metric(t, `training_operator_events_total{result="known"}`)
		return known > 0, fmt.Sprint(known)
	})
	again.countsOnce(t, training.ReasonPodUnschedulable)
}

// endlessWith returns a spec whose containers have further lines.
func endlessWith(container, rtype string) string {
	return strings.Replace(worker(container, rtype), `{simulation.stoic/exit-code: "0", simulation.stoic/run-for: 1s}`, "{}", 1)
}

// promptness is how fast the operator reports. The fastest of three counts: a busy machine delays some, a defect all. It is compared
// with how fast the operator sends its first request for a new job meanwhile, since a slow machine delays both.
type promptness struct{ fastest, reaction time.Duration }

func newPromptness() *promptness { return &promptness{fastest: patience} }

// add notes how long a report took, and a reaction.
func (p *promptness) add(t *testing.T, took, reaction time.Duration) {
	t.Helper()
	t.Logf("reported after %s; the reaction to a job took %s", took, reaction)
	p.fastest = min(p.fastest, took)
	p.reaction = max(p.reaction, reaction)
}

// check: a report takes less than a second, and longer only on a slow machine.
func (p *promptness) check(t *testing.T, what string) {
	t.Helper()
	if p.fastest > time.Second+10*p.reaction || p.fastest < 0 {
		t.Errorf("%s: %s, and the reaction to a job took %s at most", what, p.fastest, p.reaction)
	}
}

// reaction returns the time from a job to its pod, each as a watch shows it.
func (r *rig) reaction(t *testing.T, ns string) time.Duration {
	t.Helper()
	const name = "reaction"
	r = r.of(kinds.TFJob())
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	jobs, err1 := r.jobs(ns).Watch(ctx, metav1.ListOptions{FieldSelector: "metadata.name=" + name})
	pods, err2 := r.typed.CoreV1().Pods(ns).Watch(ctx, metav1.ListOptions{LabelSelector: training.LabelJob + "=" + name})
	if err1 != nil || err2 != nil {
		t.Fatal(err1, err2)
	}
	added := func(e watch.Event) bool { return e.Type == watch.Added }
	var jobAt, podAt time.Time
	var watching sync.WaitGroup
	watching.Go(func() { jobAt = first(jobs, added) })
	watching.Go(func() { podAt = first(pods, added) })
	r.apply(t, ns, manifest(name, podSpec("schedulerName: nobody", "replicas: 1")))
	watching.Wait()
	if jobAt.IsZero() || podAt.IsZero() {
		t.Fatalf("waited in vain: the job was seen at %s, its pod at %s", jobAt, podAt)
	}
	r.kubectl(t, nil, "-n", ns, "delete", "tfjob", name, "--cascade=foreground", "--timeout=3m")
	return podAt.Sub(jobAt)
}

// problemWithinASecond measures from the condition of the pod to the event of the job, each as a watch shows it.
func problemWithinASecond(t *testing.T, r *rig) {
	ns := r.namespace(t, "within")
	r.operator(t, ns)
	prompt := newPromptness()
	for i := range 3 {
		name := fmt.Sprintf("job-%d", i)
		took := r.fromPodToJob(t, ns, name, training.ReasonPodUnschedulable, func(p *corev1.Pod) bool {
			return slices.ContainsFunc(p.Status.Conditions, func(c corev1.PodCondition) bool {
				return c.Type == corev1.PodScheduled && c.Status == corev1.ConditionFalse
			})
		}, func() { r.apply(t, ns, manifest(name, endlessWith(tooMuch, "replicas: 4"))) })
		prompt.add(t, took, r.reaction(t, ns))
	}
	prompt.check(t, "from the condition of a pod to the event of its job")
}

// fromPodToJob returns the time from when a pod of the job meets a condition to when the job has an event.
func (r *rig) fromPodToJob(t *testing.T, ns, job, reason string, is func(*corev1.Pod) bool, begin func()) time.Duration {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	pods, err1 := r.typed.CoreV1().Pods(ns).Watch(ctx, metav1.ListOptions{LabelSelector: training.LabelJob + "=" + job})
	events, err2 := r.typed.CoreV1().Events(ns).Watch(ctx, metav1.ListOptions{FieldSelector: "involvedObject.name=" + job + ",reason=" + reason})
	if err1 != nil || err2 != nil {
		t.Fatal(err1, err2)
	}
	var podAt, jobAt time.Time
	var watching sync.WaitGroup
	watching.Go(func() {
		podAt = first(pods, func(e watch.Event) bool { p, ok := e.Object.(*corev1.Pod); return ok && is(p) })
	})
	watching.Go(func() {
		jobAt = first(events, func(e watch.Event) bool { _, ok := e.Object.(*corev1.Event); return ok })
	})
	begin()
	watching.Wait()
	if podAt.IsZero() || jobAt.IsZero() {
		t.Fatalf("waited in vain: the pod was so at %s, the event came at %s", podAt, jobAt)
	}
	return jobAt.Sub(podAt)
}

// first returns when a watch first shows a match; zero if it ends before.
func first(w watch.Interface, is func(watch.Event) bool) time.Time {
	defer w.Stop()
	for e := range w.ResultChan() {
		if is(e) {
			return time.Now()
		}
	}
	return time.Time{}
}

func schedulingGated(t *testing.T, r *rig) {
	ns := r.namespace(t, "gated")
	p := r.operator(t, ns)
	r.apply(t, ns, manifest("job", podSpec("schedulingGates: [{name: example.com/wait}]", "replicas: 2")))
	r.reportedOnce(t, ns, "job", training.ReasonPodSchedulingGated, "held back by scheduling gates")
	p.countsOnce(t, training.ReasonPodSchedulingGated)
}

// imageNotPulled: the test acts as the kubelet, which reports two things in turn.
func imageNotPulled(t *testing.T, r *rig) {
	ns := r.namespace(t, "image")
	p := r.operator(t, ns)
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
	p.countsOnce(t, training.ReasonPodImageFailed)
	p.countsOnce(t, training.ReasonPodContainerFailed)
}

// preempted: the scheduler makes room for a job of a higher priority.
func preempted(t *testing.T, r *rig) {
	ns := r.namespace(t, "preempted")
	r.kubectl(t, []byte("apiVersion: scheduling.k8s.io/v1\nkind: PriorityClass\nmetadata: {name: urgent}\nvalue: 1000\n"), "apply", "-f", "-")
	p := r.operator(t, ns)
	const place, most = "nodeSelector: {kubernetes.io/hostname: node-0}", "resources: {requests: {cpu: 40}}"
	low := strings.Replace(endlessWith(most, "restartPolicy: OnFailure"), "          containers:", "          "+place+"\n          containers:", 1)
	r.apply(t, ns, manifest("low", low))
	r.awaitActive(t, ns, "low", 1)
	r.apply(t, ns, manifest("high", strings.Replace(low, place, place+"\n          priorityClassName: urgent", 1)))
	r.reportedOnce(t, ns, "low", training.ReasonPodPreempted, "pod low-worker-0: preempted by pods of a higher priority: PreemptionByScheduler")
	r.awaitActive(t, ns, "high", 1)
	r.reportedOnce(t, ns, "low", training.ReasonPodUnschedulable, "Insufficient cpu") // its successor
	p.countsOnce(t, training.ReasonPodPreempted)
}

// evicted: as a drain does.
func evicted(t *testing.T, r *rig) {
	ns := r.namespace(t, "evicted")
	p := r.operator(t, ns)
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
	p.countsOnce(t, training.ReasonPodEvicted)
}

// saysOfImage acts as a kubelet that cannot pull the image of the worker.
func (r *rig) saysOfImage(t *testing.T, ns, pod, container string) {
	t.Helper()
	status := fmt.Sprintf(`{"status":{"containerStatuses":[{"name":%q,"image":"training:1","imageID":"","ready":false,"restartCount":0,
		"state":{"waiting":{"reason":"ErrImagePull","message":"no such image: training:1"}}}]}}`, container)
	if _, err := r.typed.CoreV1().Pods(ns).Patch(t.Context(), pod, types.StrategicMergePatchType, []byte(status), metav1.PatchOptions{}, "status"); err != nil {
		t.Fatal(err)
	}
}

func failsToPull(p *corev1.Pod) bool {
	return slices.ContainsFunc(p.Status.ContainerStatuses, func(c corev1.ContainerStatus) bool {
		return c.State.Waiting != nil && c.State.Waiting.Reason == "ErrImagePull"
	})
}

// imageWithinASecond measures from the status of the pod to the event of the job, which is sent once, whichever process sends it.
func imageWithinASecond(t *testing.T, r *rig) {
	ns := r.namespace(t, "image-within")
	p := r.operator(t, ns)
	prompt := newPromptness()
	for i := range 3 {
		name := fmt.Sprintf("job-%d", i)
		r.apply(t, ns, manifest(name, podSpec("schedulerName: nobody", "replicas: 1")))
		r.awaitPods(t, ns, name, 1)
		took := r.fromPodToJob(t, ns, name, training.ReasonPodImageFailed, failsToPull, func() { r.saysOfImage(t, ns, name+"-worker-0", "tensorflow") })
		prompt.add(t, took, r.reaction(t, ns))
	}
	prompt.check(t, "from the status of a pod to the event of its job")
	p.kill(t)
	again := r.operator(t, ns)
	await(t, "the events to be planned again", func() (bool, string) {
		known, _ := again.metric(t, `training_operator_events_total{result="known"}`)
		return known >= 3, fmt.Sprint(known)
	})
	for i := range 3 {
		r.reportedOnce(t, ns, fmt.Sprintf("job-%d", i), training.ReasonPodImageFailed, "ErrImagePull")
	}
	if n := again.counted(t, training.ReasonPodImageFailed); n != 0 {
		t.Errorf("the second process counts %v", n)
	}
}

// launcherProblems: the Job controller creates the launcher's pod of an MPIJob of v2beta1, and its problems are reported on the MPIJob.
func launcherProblems(t *testing.T, r *rig) {
	r = r.of(v2beta1.MPIJob())
	ns := r.namespace(t, "launcher")
	p := r.operator(t, ns)
	prompt := newPromptness()
	unplaced := func(p *corev1.Pod) bool {
		return p.Labels[training.LabelJobRole] == training.JobRoleLauncher && slices.ContainsFunc(p.Status.Conditions, func(c corev1.PodCondition) bool {
			return c.Type == corev1.PodScheduled && c.Status == corev1.ConditionFalse
		})
	}
	for i := range 3 {
		name := fmt.Sprintf("pi-%d", i)
		took := r.fromPodToJob(t, ns, name, training.ReasonPodUnschedulable, unplaced, func() {
			r.apply(t, ns, mpi2Manifest(name, "", "{}", "{}", 1, "nodeSelector: {there: none}, "))
		})
		prompt.add(t, took, r.reaction(t, ns))
	}
	prompt.check(t, "from the condition of a launcher's pod to the event of its job")
	for i := range 3 {
		r.reportedOnce(t, ns, fmt.Sprintf("pi-%d", i), training.ReasonPodUnschedulable, fmt.Sprintf("pod pi-%d-launcher-", i))
	}
	p.counts(t, training.ReasonPodUnschedulable, 3)
	r.saysOfImage(t, ns, r.podsOf(t, ns, training.JobRoleLauncher)[0].Name, "mpi")
	await(t, "the event about the image", func() (bool, string) {
		list, err := r.typed.CoreV1().Events(ns).List(t.Context(), metav1.ListOptions{FieldSelector: "reason=" + training.ReasonPodImageFailed})
		return err == nil && len(list.Items) == 1 && list.Items[0].InvolvedObject.Kind == r.kind.Name, fmt.Sprint(list, err)
	})
	p.countsOnce(t, training.ReasonPodImageFailed)
}
