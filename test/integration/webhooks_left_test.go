package integration

import (
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"stoic/cli/cluster"
	"stoic/test/operator"
	"stoic/training"
	"stoic/training/kinds"
)

// TestDeadWebhooks: if the Deployment and the Service of training-operator 1.9 are deleted, but not its webhooks, the API server
// rejects creations and changes of jobs. The operator does everything for running jobs except updates of the job itself. The
// command of docs/migration.md is the cure.
func TestDeadWebhooks(t *testing.T) {
	full(t)
	t.Parallel() // it mostly waits
	if operator.CRs() == cluster.CRsAggregated {
		t.Skip("a server of custom resources asks the DNS for the service of a webhook, and there is none")
	}
	r := bareRig(t, cluster.Options{CRDs: []string{filepath.Join(root, "deploy/crd")}})
	r.permit(t)
	p := r.operator(t, "")
	endless := strings.Replace(worker("", "replicas: 2\nrestartPolicy: ExitCode"), `{simulation.stoic/exit-code: "0", simulation.stoic/run-for: 1s}`, "{}", 1)
	r.apply(t, "default", manifest("restarts", endless)+"---\n"+manifest("ends", endless))
	r.awaitState(t, "default", "restarts", training.Running)
	r.awaitState(t, "default", "ends", training.Running)
	await(t, "all pods to run", func() (bool, string) {
		a, b := r.head(t, "default", "restarts").Status.ReplicaStatuses["Worker"].Active, r.head(t, "default", "ends").Status.ReplicaStatuses["Worker"].Active
		return a == 2 && b == 2, fmt.Sprint(a, b)
	})
	r.kubectl(t, nil, "apply", "-f", deadWebhooks)
	r.refusesJobs(t, true)

	t.Run("users", func(t *testing.T) { r.usersAreRefused(t) })
	t.Run("jobs that run", func(t *testing.T) { r.endsAndWaits(t, p) })

	r.shell(t, root, commandsOf(t, "docs/migration.md")["Webhooks that were left behind"], nil)
	r.refusesJobs(t, false)
	r.restartsAfterAll(t)
	r.apply(t, "default", manifest("later", worker("", "")))
	r.awaitState(t, "default", "later", training.Succeeded)
	if !p.Alive() || strings.Contains(p.Text(), "panic") {
		t.Errorf("the operator ends:\n%s", p.Tail())
	}
	nothingIsForbidden(t, r)
}

// usersAreRefused: the API server rejects creations and changes of jobs of the five kinds. The error names the webhook.
func (r *rig) usersAreRefused(t *testing.T) {
	examples := map[string]string{"mnist.yaml": "tfjob", "pytorch.yaml": "pytorchjob", "xgboost.yaml": "xgboostjob", "paddle.yaml": "paddlejob", "jax.yaml": "jaxjob"}
	for file, kind := range examples {
		out, err := r.tryKubectl(nil, "create", "-f", filepath.Join(root, "examples", file))
		if want := `failed calling webhook "validator.` + kind + `.training-operator.kubeflow.org"`; err == nil || !strings.Contains(out, want) || !strings.Contains(out, `service "training-operator" not found`) {
			t.Errorf("create %s: %s (%v), want %s", file, out, err, want)
		}
	}
	for _, change := range [][]string{
		{"label", "tfjob", "restarts", "a=b"},
		{"annotate", "tfjob", "restarts", "a=b"},
		{"patch", "tfjob", "restarts", "--type=merge", "-p", `{"spec":{"runPolicy":{"suspend":true}}}`},
	} {
		if out, err := r.tryKubectl(nil, change...); err == nil || !strings.Contains(out, "failed calling webhook") {
			t.Errorf("kubectl %v: %s (%v)", change, out, err)
		}
	}
	r.kubectl(t, nil, "create", "-f", filepath.Join(root, "examples/mpi.yaml")) // 1.9 has no webhook for MPIJobs
	r.of(kinds.MPIJob()).awaitState(t, "default", "mpi", training.Succeeded)
}

// endsAndWaits: a status write is no update of the job, so a job reaches its end. An annotation is one, and the operator records
// a restart there: a replica that must be restarted stays as it is, under the condition Restarting, and the log and a metric say
// why. The operator serves, and is ready.
func (r *rig) endsAndWaits(t *testing.T, p *process) {
	r.kubectl(t, nil, "annotate", "pod", "ends-worker-0", "ends-worker-1", "simulation.stoic/exit-code=0")
	r.awaitState(t, "default", "ends", training.Succeeded)
	before := r.pods(t, "default", "restarts")
	r.kubectl(t, nil, "annotate", "pod", "restarts-worker-1", "simulation.stoic/exit-code=137")
	await(t, "reconciles that fail", func() (bool, string) {
		n, _ := p.metric(t, `training_operator_reconcile_errors_total{class="retry",kind="TFJob"`)
		return n >= 2, fmt.Sprint(n)
	})
	r.awaitState(t, "default", "restarts", training.Restarting)
	if text := p.Text(); !strings.Contains(text, `failed calling webhook \"validator.tfjob.training-operator.kubeflow.org\"`) {
		t.Errorf("the log does not name the webhook:\n%s", p.Tail())
	}
	if now := r.pods(t, "default", "restarts"); now["restarts-worker-1"] != before["restarts-worker-1"] {
		t.Error("a pod is replaced whose failure is not on record")
	}
	for _, path := range []string{"/readyz", "/healthz"} {
		if code := p.Probe(t.Context(), path); code != http.StatusOK {
			t.Errorf("%s is %d", path, code)
		}
	}
}

// restartsAfterAll: the replica that waited is restarted.
func (r *rig) restartsAfterAll(t *testing.T) {
	t.Helper()
	await(t, "the restart on record", func() (bool, string) {
		ledger := r.head(t, "default", "restarts").Ledger
		return ledger.Restarts == 1, fmt.Sprintf("%+v", ledger)
	})
	r.awaitReason(t, "default", "restarts", "TFJobRestarting")
	r.awaitState(t, "default", "restarts", training.Running)
}
