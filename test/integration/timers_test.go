package integration

import (
	"fmt"
	"testing"
	"time"

	"stoic/training"
)

// checkNotEarly: a timer did not fire before it was due, by the operator's clock and ours, which are the same. Times in objects are
// whole seconds. That it fires at all, although nothing else happens, is what each test waits for; training/plan has the exact times.
func checkNotEarly(t *testing.T, what string, due, at time.Time) {
	t.Helper()
	if early := due.Sub(at); early > time.Second {
		t.Errorf("%s came %v before it was due", what, early)
	}
}

func deadlineFires(t *testing.T, r *rig) {
	ns := r.namespace(t, "deadline")
	r.serve(t, ns)
	r.apply(t, ns, manifest("job", endless("activeDeadlineSeconds: 8, cleanPodPolicy: Running", "replicas: 2")))
	r.awaitPods(t, ns, "job", 2)
	head := r.awaitState(t, ns, "job", training.Failed)
	checkNotEarly(t, "the deadline", head.Status.StartTime.Add(8*time.Second), head.Status.CompletionTime.Time)
	if got := head.Status.Condition(training.Failed).Message; got != "Job job has failed because it was active longer than specified deadline" {
		t.Errorf("message: %s", got)
	}
	await(t, "no pods", func() (bool, string) {
		pods := r.pods(t, ns, "job")
		return len(pods) == 0, fmt.Sprint(pods)
	})
}

// limit edits a number of seconds in a job's runPolicy.
func (r *rig) limit(t *testing.T, ns, name, field string, seconds int) {
	t.Helper()
	mergePatch(t, r.jobs(ns), name, fmt.Sprintf(`{"spec":{"runPolicy":{%q:%d}}}`, field, seconds))
}

// timeToLiveFires: with a running operator, and after one that was down when the time came.
func timeToLiveFires(t *testing.T, r *rig) {
	ns := r.namespace(t, "ttl")
	p := r.operator(t, ns)
	r.apply(t, ns, manifest("job", "\n  runPolicy: {ttlSecondsAfterFinished: 4}"+worker("", "")))
	// Background deletion removes this finalizer, and the API server then rejects every resourceVersion precondition of a deletion.
	r.kubectl(t, nil, "-n", ns, "patch", "tfjob", "job", "--type=merge", "-p", `{"metadata":{"finalizers":["orphan"]}}`)
	head := r.awaitState(t, ns, "job", training.Succeeded)
	var gone time.Time
	await(t, "the job to go", func() (bool, string) {
		gone = time.Now()
		return r.head(t, ns, "job") == nil, "still there"
	})
	checkNotEarly(t, "the end", head.Status.CompletionTime.Add(4*time.Second), gone)

	r.apply(t, ns, manifest("job", worker("", "")))
	head = r.awaitState(t, ns, "job", training.Succeeded)
	p.kill(t)
	r.limit(t, ns, "job", "ttlSecondsAfterFinished", 1)
	await(t, "the time to pass", func() (bool, string) {
		left := time.Until(head.Status.CompletionTime.Add(2 * time.Second))
		return left < 0, left.String()
	})
	r.operator(t, ns)
	await(t, "the job to go", func() (bool, string) { return r.head(t, ns, "job") == nil, "still there" })
}
