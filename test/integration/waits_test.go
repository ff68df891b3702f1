package integration

import (
	"fmt"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"stoic/schema"
	"stoic/training"
)

// TestWaits: a job that waits says for what, in one event and in the message of the condition that is its state.
func TestWaits(t *testing.T) {
	quick(t)
	t.Parallel() // it mostly waits
	r := withOperator(t)
	ns := r.namespace(t, "waits")
	p := r.serve(t, ns)
	short := podSpec("terminationGracePeriodSeconds: 1", "replicas: 2")
	r.apply(t, ns, manifest("job", strings.Replace(short, `annotations: {}`, "annotations: {}\n          finalizers: [example.com/hold]", 1)))
	r.apply(t, ns, manifest("undisturbed", endless("", "replicas: 2")))
	before := r.awaitActive(t, ns, "job", 2)
	state := before.Status.Condition(training.Running)
	was := r.pods(t, ns, "job")
	if err := r.typed.CoreV1().Pods(ns).Delete(t.Context(), "job-worker-1", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	message := func() string { return r.head(t, ns, "job").Status.Condition(training.Running).Message }
	await(t, "the condition to name the pod and its finalizer", func() (bool, string) {
		return strings.HasPrefix(message(), state.Message+" Waiting: pod job-worker-1: ") && strings.Contains(message(), "the finalizer example.com/hold keeps it"), message()
	})
	r.reportedOnce(t, ns, "job", training.ReasonPodNotEnding, "pod job-worker-1: was deleted and does not end: the finalizer example.com/hold keeps it; its replacement is created when it is gone")
	p.counts(t, training.ReasonPodNotEnding)
	if now := r.head(t, ns, "job").Status.Condition(training.Running); !now.LastTransitionTime.Equal(&state.LastTransitionTime) || now.Reason != state.Reason {
		t.Errorf("the condition was %+v and is %+v", state, now)
	}
	mergePatch(t, r.client(schema.Pods(), ns), "job-worker-1", `{"metadata":{"finalizers":null}}`)
	await(t, "the replacement", func() (bool, string) {
		pods := r.pods(t, ns, "job")
		return len(pods) == 2 && pods["job-worker-1"] != was["job-worker-1"], fmt.Sprint(pods)
	})
	r.awaitActive(t, ns, "job", 2)
	await(t, "the message to be as before", func() (bool, string) { return message() == state.Message, message() })
	r.reportedOnce(t, ns, "job", training.ReasonPodNotEnding, "")
	if head := r.head(t, ns, "undisturbed"); strings.Contains(describe(&head.Status), "Waiting") || head.Status.Condition(training.Running).Message != strings.Replace(state.Message, "/job ", "/undisturbed ", 1) {
		t.Errorf("the other job: %+v", head.Status.Conditions)
	}
	for name := range r.pods(t, ns, "job") { // the finalizers would keep the namespace
		mergePatch(t, r.client(schema.Pods(), ns), name, `{"metadata":{"finalizers":null}}`)
	}
}
