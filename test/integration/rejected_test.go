package integration

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"stoic/training"
)

// checkRejected waits until a job that never started is rejected as in architecture.md, and an event reports it.
func checkRejected(t *testing.T, r *rig, ns string, m malformed) {
	t.Helper()
	if r.structural && m.pruned != "" {
		m.path = m.pruned
	}
	if !r.structural || !m.mute {
		checkConditions(t, r, ns, m)
	}
	checkReported(t, r, ns, m)
	if pods := r.pods(t, ns, m.name); len(pods) > 0 {
		t.Errorf("%s: has pods: %v", m.name, pods)
	}
}

// checkConditions: the record of a rejection.
func checkConditions(t *testing.T, r *rig, ns string, m malformed) {
	t.Helper()
	want := "Stalled=True(InvalidSpec) Failed=True(InvalidSpec)"
	await(t, ns+"/"+m.name+" to be rejected", func() (bool, string) {
		got := describe(&r.head(t, ns, m.name).Status)
		return got == want, got
	})
	head := r.head(t, ns, m.name)
	message := head.Status.Condition(training.Failed).Message
	if !strings.Contains(message, m.path+": ") || !strings.Contains(message, "no pods were created") {
		t.Errorf("%s: the condition does not name %s: %s", m.name, m.path, message)
	}
	if head.Status.CompletionTime != nil || head.Status.StartTime != nil {
		t.Errorf("%s: a job that never started has times", m.name)
	}
	if r.keepsGeneration && head.Status.ObservedGeneration != head.Meta.Generation {
		t.Errorf("%s: observedGeneration is %d, want %d", m.name, head.Status.ObservedGeneration, head.Meta.Generation)
	}
}

// checkReported checks the sentences in events, each once.
func checkReported(t *testing.T, r *rig, ns string, m malformed) {
	t.Helper()
	var events []event
	await(t, "the event of "+m.name, func() (bool, string) {
		events = r.events(t, ns, m.name)
		return slices.ContainsFunc(events, func(e event) bool {
			return e.Type == "Warning" && e.Reason == "TFJobFailedValidation" && e.Path == m.path && strings.HasPrefix(e.Message, m.path+": ")
		}), fmt.Sprint(events)
	})
	seen := map[event]bool{}
	for _, e := range events {
		if seen[e] {
			t.Errorf("%s: told twice: %v", m.name, e)
		}
		seen[e] = true
	}
}

func malformedStored(t *testing.T, r *rig) {
	const ns = "stored"
	healthy := []string{"healthy-a", "healthy-b", "healthy-c"}
	for _, name := range healthy {
		r.apply(t, ns, manifest(name, worker("", "replicas: 2")))
	}
	p := r.operator(t, ns)
	for _, name := range healthy {
		r.awaitState(t, ns, name, training.Succeeded)
	}
	for _, m := range nonsense() {
		checkRejected(t, r, ns, m)
	}
	recorded := 0
	for _, m := range nonsense() {
		if !r.structural || !m.mute {
			recorded++
		}
	}
	if got, _ := p.metric(t, "training_operator_jobs_rejected_total"); got != float64(recorded) {
		t.Errorf("training_operator_jobs_rejected_total is %v, want %d", got, recorded)
	}
	if got, _ := p.metric(t, "training_operator_panics_total"); got != 0 {
		t.Errorf("training_operator_panics_total is %v", got)
	}

	// A restart reports nothing a second time and writes nothing.
	before := map[string]string{}
	events := 0
	for _, m := range nonsense() {
		before[m.name] = r.raw(t, ns, m.name).GetResourceVersion()
		events += len(r.events(t, ns, m.name))
	}
	p.stop(t)
	again := r.operator(t, ns)
	r.apply(t, ns, manifest("canary", worker("", "")))
	r.awaitState(t, ns, "canary", training.Succeeded)
	await(t, "the events to be worked off", func() (bool, string) {
		left, _ := again.metric(t, "training_operator_events_backlog")
		return left == 0, fmt.Sprint(left)
	})
	for _, m := range nonsense() {
		if got := r.raw(t, ns, m.name).GetResourceVersion(); got != before[m.name] {
			t.Errorf("%s: was written to after a restart", m.name)
		}
		events -= len(r.events(t, ns, m.name))
	}
	if events != 0 {
		t.Errorf("a restart told %d events more", -events)
	}
}

func rejectedThenRepaired(t *testing.T, r *rig) {
	const ns = "repaired"
	r.serve(t, ns)
	for _, m := range nonsense() {
		if m.path == "metadata.name" {
			continue // no edit corrects a name
		}
		checkRejected(t, r, ns, m)
		// replace and not apply: no client applied the object, and its spec may not even be an object.
		r.kubectl(t, []byte(manifest(m.name, worker("", ""))), "-n", ns, "replace", "-f", "-")
	}
	for _, m := range nonsense() {
		if m.path == "metadata.name" {
			continue
		}
		head := r.awaitState(t, ns, m.name, training.Succeeded)
		if head.Status.Condition(training.Stalled) != nil || head.Status.Condition(training.Failed) != nil {
			t.Errorf("%s: conditions of the rejection are left: %s", m.name, describe(&head.Status))
		}
	}
	// The usual sequence: kubectl apply of a malformed manifest and then of the corrected one.
	r.apply(t, ns, manifest("applied", worker(`resources: {limits: {cpu: "1e1.5"}}`, "")))
	checkRejected(t, r, ns, malformed{name: "applied", path: inContainer + ".resources.limits.cpu"})
	r.apply(t, ns, manifest("applied", worker(`resources: {limits: {cpu: "1"}}`, "")))
	r.awaitState(t, ns, "applied", training.Succeeded)
	await(t, "the event that the spec is accepted", func() (bool, string) {
		events := r.events(t, ns, "applied")
		return slices.Contains(events, event{"Normal", "TFJobSpecAccepted", "", "spec accepted at generation 2; starting"}), fmt.Sprint(events)
	})
}

func runningThenNonsense(t *testing.T, r *rig) {
	ns := r.namespace(t, "edited")
	r.serve(t, ns)
	// Without an exit code the pods run until they are deleted.
	endless := strings.Replace(worker("", "replicas: 2"), `{simulation.stoic/exit-code: "0", simulation.stoic/run-for: 1s}`, "{}", 1)
	r.apply(t, ns, manifest("job", endless))
	r.awaitState(t, ns, "job", training.Running)
	before := r.pods(t, ns, "job")
	if len(before) != 2 {
		t.Fatalf("pods: %v, want two", before)
	}
	r.apply(t, ns, manifest("job", strings.Replace(endless, "image: training:1", "image: training:1\n              resources: {limits: {cpu: \"1e1.5\"}}", 1)))
	var head *training.Head
	await(t, "the edit to be refused", func() (bool, string) {
		head = r.head(t, ns, "job")
		return head.Status.Is(training.Stalled), describe(&head.Status)
	})
	if got, want := describe(&head.Status), "Stalled=True(InvalidSpecUpdate) Created=True(TFJobCreated) Running=True(TFJobRunning)"; got != want {
		t.Errorf("conditions: %s, want %s", got, want)
	}
	path := inContainer + ".resources.limits.cpu"
	await(t, "the event of the refusal", func() (bool, string) {
		events := r.events(t, ns, "job")
		return slices.ContainsFunc(events, func(e event) bool { return e.Type == "Warning" && e.Path == path }), fmt.Sprint(events)
	})
	if diff := cmp.Diff(before, r.pods(t, ns, "job")); diff != "" {
		t.Errorf("the pods were touched (-before +after):\n%s", diff)
	}
	r.apply(t, ns, manifest("job", endless))
	await(t, "the repair to be accepted", func() (bool, string) {
		head = r.head(t, ns, "job")
		return head.Status.Condition(training.Stalled) == nil, describe(&head.Status)
	})
	if diff := cmp.Diff(before, r.pods(t, ns, "job")); diff != "" {
		t.Errorf("the pods were touched by the repair (-before +after):\n%s", diff)
	}
	r.kubectl(t, nil, "-n", ns, "annotate", "pods", "--all", `simulation.stoic/exit-code=0`)
	r.awaitState(t, ns, "job", training.Succeeded)
}

func malformedDeleted(t *testing.T, r *rig) {
	const ns = "deleted"
	r.serve(t, ns)
	for _, m := range nonsense() {
		checkRejected(t, r, ns, m)
	}
	r.kubectl(t, nil, "-n", ns, "delete", "tfjobs", "--all", "--wait=true", "--timeout=3m")
	if out := r.kubectl(t, nil, "-n", ns, "get", "tfjobs", "-o", "name"); out != "" {
		t.Errorf("left: %s", out)
	}
	r.kubectl(t, nil, "delete", "namespace", ns, "--wait=true", "--timeout=90s")
}

// unknownFields: a field that no library of ours knows reaches the API server. It prunes the field from the pod, and reports it
// to clients with strict validation; the operator's own warning event names the nearest field.
func unknownFields(t *testing.T, r *rig) {
	ns := r.namespace(t, "unknown")
	r.serve(t, ns)
	r.kubectl(t, []byte(manifest("job", worker("imagePullPolicee: Always", ""))), "-n", ns, "create", "--validate=false", "-f", "-")
	r.awaitState(t, ns, "job", training.Succeeded)
	kept, _, _ := unstructured.NestedSlice(r.raw(t, ns, "job").Object, "spec", "tfReplicaSpecs", "Worker", "template", "spec", "containers")
	if len(kept) != 1 {
		t.Fatalf("containers: %v", kept)
	}
	if _, there := kept[0].(map[string]any)["imagePullPolicee"]; !there {
		return // this shape of the CRD prunes it: there is nothing to report
	}
	await(t, "a warning", func() (bool, string) {
		events := r.events(t, ns, "job")
		return slices.ContainsFunc(events, func(e event) bool {
			return e.Type == "Warning" && e.Reason == "UnknownField" && strings.Contains(e.Message, "imagePullPolicy")
		}), fmt.Sprint(events)
	})
}
