package integration

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"stoic/training"
	"stoic/training/kinds"
)

// TestSpecialKinds: what only one kind has, or what only two kinds show.
func TestSpecialKinds(t *testing.T) {
	quick(t)
	t.Parallel() // it mostly waits
	sideBySide(t, withOperator(t), map[string]func(*testing.T, *rig){
		"elastic PyTorchJob":     func(t *testing.T, r *rig) { pyElastic(t, r.of(kinds.PyTorchJob())) },
		"masters of a PaddleJob": func(t *testing.T, r *rig) { paddleMasters(t, r.of(kinds.PaddleJob())) },
	})
}

func pyManifest(name, spec string) string {
	return fmt.Sprintf("apiVersion: kubeflow.org/v1\nkind: PyTorchJob\nmetadata:\n  name: %s\nspec:%s", name, spec)
}

func pyReplicaType(name, restart string, replicas int, annotations string) string {
	return fmt.Sprintf(`
    %s:
      replicas: %d
      restartPolicy: %s
      template:
        metadata: {annotations: %s}
        spec:
          containers: [{name: pytorch, image: "training:1"}]`, name, replicas, restart, annotations)
}

func pyWorkers(restart string, replicas int, annotations string) string {
	return "\n  pytorchReplicaSpecs:" + pyReplicaType("Worker", restart, replicas, annotations) + "\n"
}

// ends returns annotations of a pod that succeeds after that time.
func ends(after string) string {
	return `{simulation.stoic/exit-code: "0", simulation.stoic/run-for: ` + after + `}`
}

// twoKindsOneName: pods are named after the job, so the later job is reported, and nothing of the other is touched. When the
// names are free it continues.
func twoKindsOneName(t *testing.T, r *rig) {
	ns := r.namespace(t, "namesakes")
	p := r.operator(t, ns)
	tf := r.of(kinds.TFJob())
	endless := strings.Replace(worker("", "replicas: 2"), `{simulation.stoic/exit-code: "0", simulation.stoic/run-for: 1s}`, "{}", 1)
	tf.apply(t, ns, manifest("twin", endless))
	await(t, "two pods that run", func() (bool, string) {
		head := tf.head(t, ns, "twin")
		return head.Status.ReplicaStatuses["Worker"].Active == 2, describe(&head.Status)
	})
	before := tf.pods(t, ns, "twin")
	r.apply(t, ns, pyManifest("twin", pyWorkers("Never", 2, ends("1s"))))
	await(t, "the conflict to be told", func() (bool, string) {
		events := r.events(t, ns, "twin")
		return slices.ContainsFunc(events, func(e event) bool { return e.Type == "Warning" && e.Reason == "NameConflict" }), fmt.Sprint(events)
	})
	if diff := cmp.Diff(before, tf.pods(t, ns, "twin")); diff != "" {
		t.Errorf("the pods of the first were touched (-before +after):\n%s", diff)
	}
	for _, e := range tf.events(t, ns, "twin") {
		if e.Type == "Warning" {
			t.Errorf("the first one is told %v", e)
		}
	}
	if head := r.head(t, ns, "twin"); head.Status.Terminal() != "" || head.Status.Is(training.Running) {
		t.Errorf("the second one: %s", describe(&head.Status))
	}
	r.kubectl(t, nil, "-n", ns, "delete", "tfjob", "twin", "--cascade=foreground", "--wait=true", "--timeout=3m")
	p.stop(t) // it would retry in five minutes; a new one tries immediately
	r.operator(t, ns)
	r.awaitState(t, ns, "twin", training.Succeeded)
}

// pyElastic: the workers of an elastic job meet at worker 0.
func pyElastic(t *testing.T, r *rig) {
	ns := r.namespace(t, "elastic")
	r.serve(t, ns)
	r.apply(t, ns, pyManifest("bert", "\n  elasticPolicy: {minReplicas: 1, maxReplicas: 3, maxRestarts: 5}"+pyWorkers("OnFailure", 2, ends("3s"))))
	r.awaitState(t, ns, "bert", training.Running)
	var got []string
	for _, e := range r.pod(t, ns, "bert-worker-1").Spec.Containers[0].Env {
		got = append(got, e.Name+"="+e.Value)
	}
	const want = "PYTHONUNBUFFERED=1 PET_NPROC_PER_NODE=auto PET_RDZV_ENDPOINT=bert-worker-0:23456 PET_RDZV_BACKEND=c10d PET_NNODES=1:3 PET_MAX_RESTARTS=5"
	if diff := cmp.Diff(strings.Fields(want), got); diff != "" {
		t.Errorf("variables (-want +got):\n%s", diff)
	}
	r.awaitState(t, ns, "bert", training.Succeeded)
}
