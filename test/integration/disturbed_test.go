package integration

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"stoic/training"
)

func deletedAndRecreated(t *testing.T, r *rig) {
	ns := r.namespace(t, "anew")
	r.serve(t, ns)
	text := manifest("job", strings.Replace(worker("", "replicas: 2"), "run-for: 1s", "run-for: 5s", 1))
	for round := range 3 {
		r.apply(t, ns, text)
		first := r.awaitState(t, ns, "job", training.Running)
		r.kubectl(t, nil, "-n", ns, "delete", "tfjob", "job", "--cascade=background", "--wait=true")
		r.apply(t, ns, text)
		second := r.awaitState(t, ns, "job", training.Running)
		if first.Meta.UID == second.Meta.UID {
			t.Fatalf("round %d: still the first job", round)
		}
		await(t, "exactly the pods of the new job", func() (bool, string) {
			owners := r.kubectl(t, nil, "-n", ns, "get", "pods", "-o", "jsonpath={.items[*].metadata.ownerReferences[0].uid}")
			return strings.Fields(owners) != nil && owners == string(second.Meta.UID)+" "+string(second.Meta.UID), owners
		})
		if round == 2 {
			r.awaitState(t, ns, "job", training.Succeeded)
			continue
		}
		r.kubectl(t, nil, "-n", ns, "delete", "tfjob", "job", "--cascade=foreground", "--wait=true", "--timeout=3m")
	}
}

func statusEdited(t *testing.T, r *rig) {
	ns := r.namespace(t, "tampered")
	r.serve(t, ns)
	endless := strings.Replace(worker("", "replicas: 2"), `{simulation.stoic/exit-code: "0", simulation.stoic/run-for: 1s}`, "{}", 1)
	r.apply(t, ns, manifest("job", endless))
	before := r.awaitState(t, ns, "job", training.Running)
	pods := r.pods(t, ns, "job")
	for _, status := range []string{
		`{"conditions":[],"replicaStatuses":{"Worker":{"active":1000000}}}`,
		`{"conditions":null,"replicaStatuses":null,"startTime":null}`,
		`{"conditions":[{"type":"Running","status":"False"},{"type":"Restarting","status":"True"}]}`,
		`{"replicaStatuses":{"Worker":{"succeeded":-7},"Nobody":{"failed":3}}}`,
	} {
		r.kubectl(t, nil, "-n", ns, "patch", "tfjob", "job", "--subresource=status", "--type=merge", "-p", `{"status":`+status+`}`)
		await(t, "the status to be repaired after "+status, func() (bool, string) {
			head := r.head(t, ns, "job")
			counts := fmt.Sprint(head.Status.ReplicaStatuses)
			return head.Status.Is(training.Created) && head.Status.Is(training.Running) && !head.Status.Is(training.Restarting) &&
				head.Status.StartTime != nil && strings.HasPrefix(counts, "map[Worker:{2 0 0 ") && len(head.Status.ReplicaStatuses) == 1 && !head.Status.Unclean, describe(&head.Status) + counts
		})
	}
	if diff := cmp.Diff(pods, r.pods(t, ns, "job")); diff != "" {
		t.Errorf("the pods were touched (-before +after):\n%s", diff)
	}
	if after := r.head(t, ns, "job"); after.Meta.Generation != before.Meta.Generation {
		t.Errorf("generation went from %d to %d", before.Meta.Generation, after.Meta.Generation)
	}
}

// terminalConditionWiped: a finished job whose pods are deleted does not restart when another client wipes its status.
func terminalConditionWiped(t *testing.T, r *rig) {
	ns := r.namespace(t, "wiped")
	p := r.operator(t, ns)
	r.apply(t, ns, manifest("job", "\n  runPolicy: {cleanPodPolicy: All}"+worker("", "")))
	before := r.awaitState(t, ns, "job", training.Succeeded)
	gone := func() (bool, string) {
		pods := r.pods(t, ns, "job")
		return len(pods) == 0, fmt.Sprint(pods)
	}
	await(t, "the pod to be deleted", gone)
	for _, operator := range []string{"running", "down"} {
		if operator == "down" {
			p.kill(t)
		}
		r.kubectl(t, nil, "-n", ns, "patch", "tfjob", "job", "--subresource=status", "--type=json", "-p", `[{"op":"replace","path":"/status","value":{}}]`)
		if operator == "down" {
			r.operator(t, ns)
		}
		after := r.awaitState(t, ns, "job", training.Succeeded)
		if diff := cmp.Diff(before.Status.CompletionTime, after.Status.CompletionTime); diff != "" {
			t.Errorf("operator %s: the time of the end (-before +after):\n%s", operator, diff)
		}
	}
	made := 0
	for _, q := range r.requests(t) {
		if q.Verb == "create" && q.ObjectRef.Resource == "pods" && q.ObjectRef.Namespace == ns {
			made++
		}
	}
	if ok, saw := gone(); !ok || made != 1 {
		t.Errorf("%d pods were made, there are %s; want one, and none", made, saw)
	}
}

// replicaRestarted: exit code 137 counts as an accident, and the replica gets a new pod with its old name; 3 is the program's own code.
func replicaRestarted(t *testing.T, r *rig) {
	ns := r.namespace(t, "restarted")
	p := r.serve(t, ns)
	endless := strings.Replace(worker("", "replicas: 2\nrestartPolicy: ExitCode"), `{simulation.stoic/exit-code: "0", simulation.stoic/run-for: 1s}`, "{}", 1)
	r.apply(t, ns, manifest("job", endless))
	r.awaitState(t, ns, "job", training.Running)
	await(t, "two pods that run", func() (bool, string) {
		head := r.head(t, ns, "job")
		return head.Status.ReplicaStatuses["Worker"].Active == 2, describe(&head.Status)
	})
	before := r.pods(t, ns, "job")

	r.kubectl(t, nil, "-n", ns, "annotate", "pod", "job-worker-1", "simulation.stoic/exit-code=137")
	r.awaitReason(t, ns, "job", "TFJobRestarting") // the condition may last no longer than a new pod takes to run
	await(t, "a new pod in place of job-worker-1", func() (bool, string) {
		pods := r.pods(t, ns, "job")
		return len(pods) == 2 && pods["job-worker-1"] != before["job-worker-1"], fmt.Sprint(pods)
	})
	head := r.awaitState(t, ns, "job", training.Running)
	if head.Status.Condition(training.Restarting) != nil {
		t.Errorf("Restarting stays beside Running: %s", describe(&head.Status))
	}
	if now := r.pods(t, ns, "job"); now["job-worker-0"] != before["job-worker-0"] {
		t.Error("the other replica was restarted, too")
	}
	if got, _ := p.metric(t, "training_operator_jobs_restarted_total", `job_namespace="restarted"`); got != 1 {
		t.Errorf("training_operator_jobs_restarted_total is %v, want 1", got)
	}

	r.kubectl(t, nil, "-n", ns, "annotate", "pod", "job-worker-1", "simulation.stoic/exit-code=3")
	head = r.awaitState(t, ns, "job", training.Failed)
	if got, want := head.Status.Condition(training.Failed).Message, `job "job" is failing because "Worker" replica(s) failed. First: pod job-worker-`; !strings.HasPrefix(got, want) {
		t.Errorf("message: %s, want %s", got, want)
	}
}
