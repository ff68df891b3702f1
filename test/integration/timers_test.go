package integration

import (
	"fmt"
	"testing"
	"time"

	"stoic/training"
)

// soon is how late a timer may fire.
const soon = 2 * time.Second

// checkOnTime: what ended a job did so when it was due, by the operator's clock and ours, which are the same.
func checkOnTime(t *testing.T, what string, due, at time.Time) {
	t.Helper()
	if late := at.Sub(due); late < -time.Second || late > soon {
		t.Errorf("%s came %v after it was due", what, late)
	}
}

func deadlineFires(t *testing.T, r *rig) {
	ns := r.namespace(t, "deadline")
	r.operator(t, ns)
	r.apply(t, ns, manifest("job", endless("activeDeadlineSeconds: 8, cleanPodPolicy: Running", "replicas: 2")))
	r.awaitPods(t, ns, "job", 2)
	head := r.awaitState(t, ns, "job", training.Failed)
	checkOnTime(t, "the deadline", head.Status.StartTime.Add(8*time.Second), head.Status.CompletionTime.Time)
	if got := head.Status.Condition(training.Failed).Message; got != "Job job has failed because it was active longer than specified deadline" {
		t.Errorf("message: %s", got)
	}
	await(t, "no pods", func() (bool, string) {
		pods := r.pods(t, ns, "job")
		return len(pods) == 0, fmt.Sprint(pods)
	})
}

// deadlineAfterRestart: one deadline is in the future when the operator is back, the other has passed.
func deadlineAfterRestart(t *testing.T, r *rig) {
	ns := r.namespace(t, "deadline-restart")
	p := r.operator(t, ns)
	r.apply(t, ns, manifest("missed", endless("activeDeadlineSeconds: 5", "")))
	r.awaitActive(t, ns, "missed", 1)
	r.apply(t, ns, manifest("ahead", endless("activeDeadlineSeconds: 14", "")))
	ahead := r.awaitActive(t, ns, "ahead", 1)
	p.kill(t)
	missed := r.head(t, ns, "missed")
	await(t, "the first deadline to pass", func() (bool, string) {
		left := time.Until(missed.Status.StartTime.Add(7 * time.Second))
		return left < 0, left.String()
	})
	if head := r.head(t, ns, "missed"); head.Status.Terminal() != "" {
		t.Fatalf("the operator was too slow to be killed: %s", describe(&head.Status))
	}
	r.operator(t, ns)
	back := time.Now() // it is ready: its caches hold the jobs
	head := r.awaitState(t, ns, "missed", training.Failed)
	if late := head.Status.CompletionTime.Sub(back); late > soon {
		t.Errorf("the missed deadline came %v after the start", late)
	}
	head = r.awaitState(t, ns, "ahead", training.Failed)
	checkOnTime(t, "the deadline ahead", ahead.Status.StartTime.Add(14*time.Second), head.Status.CompletionTime.Time)
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
	checkOnTime(t, "the end", head.Status.CompletionTime.Add(4*time.Second), gone)

	r.apply(t, ns, manifest("job", "\n  runPolicy: {ttlSecondsAfterFinished: 3}"+worker("", "")))
	r.awaitState(t, ns, "job", training.Succeeded)
	p.kill(t)
	if r.head(t, ns, "job") == nil {
		t.Fatal("the operator was too slow to be killed")
	}
	await(t, "the time to pass", func() (bool, string) {
		left := time.Until(r.head(t, ns, "job").Status.CompletionTime.Add(4 * time.Second))
		return left < 0, left.String()
	})
	r.operator(t, ns)
	back := time.Now()
	await(t, "the job to go", func() (bool, string) { return r.head(t, ns, "job") == nil, "still there" })
	if late := time.Since(back); late > soon {
		t.Errorf("the missed end came %v after the start", late)
	}
}
