package scenario

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"stoic/test/faults/oracle"
	"stoic/training/kinds"
)

// mpi returns the training operator with MPIJobs of kubeflow.org/v1: a launcher that waits for its workers, and the ConfigMap,
// service account, Role and RoleBinding by which it reaches them.
func mpi() *Operator {
	o := training()
	o.Name, o.Canary, o.Share, o.Scenarios = "mpi", false, 8, mpiScenarios()
	o.Resource = mpiJobs("v1")
	o.Dependents = []schema.GroupVersionResource{core("pods"), core("configmaps"), core("serviceaccounts"), rbac("roles"), rbac("rolebindings")}
	o.Rules.Always = append([]func(*oracle.Case) []string{gatesFirst, launcherLast, letInFirst, execOnlyWorkers}, o.Rules.Always...)
	o.Goals, o.Watches = mpiGoals(), watchesOf(kinds.MPIJob())
	o.Sample = []string{"mpi-succeed", "mpi-suspend-resume"}
	o.Contents = map[string]map[string]any{
		"configmaps": {"no data": map[string]any{"data": nil}, "another hostfile": map[string]any{"data": map[string]any{"hostfile": "elsewhere slots=7\n"}}},
		"roles": {"no rules": map[string]any{"rules": []any{}},
			"all pods": map[string]any{"rules": []any{map[string]any{"apiGroups": []any{""}, "resources": []any{"pods/exec"}, "verbs": []any{"create"}}}}},
		"rolebindings": {"no subjects": map[string]any{"subjects": []any{}},
			"somebody else": map[string]any{"subjects": []any{map[string]any{"kind": "ServiceAccount", "name": "somebody", "namespace": "default"}}}},
	}
	return o
}

// mpiGoals returns the goals of both versions. A second crash (G2) and lost events (G5) test the engine, so the jobs of pods and
// services cover them. The clocks (G13) of MPIJobs of v1 are those of all jobs. The time limits of v2beta1 are the batch/v1
// Job's, whose controller is not under test.
func mpiGoals() []string { return []string{"G1", "G3", "G4", "G6", "G11", "G14", "G18"} }

func rbac(plural string) schema.GroupVersionResource {
	return schema.GroupVersionResource{Group: "rbac.authorization.k8s.io", Version: "v1", Resource: plural}
}

func mpiScenarios() []Scenario {
	const running, clean, retry = "cleanPodPolicy: Running", "cleanPodPolicy: All", "restartPolicy: ExitCode"
	const path = "spec.mpiReplicaSpecs.Worker.template.spec.containers[0].resources.limits.cpu"
	job := func(policy string, launcher, worker mpiRole) func(string) string {
		return mpiJob{version: "v1", policy: policy, launcher: launcher, worker: worker}.manifest
	}
	two, never := mpiRole{replicas: 2}, mpiRole{}
	// What a launcher needs is kept when the job is over or suspended: a ConfigMap and an account cost nothing.
	kept := dependents("ConfigMap", "Role", "RoleBinding", "ServiceAccount")
	at := func(pods ...string) Check { return all(podsOnly(pods...), kept) }
	started := all(runWithoutService("launcher", "worker-0", "worker-1"), discovers(2, 2))
	known := all(was("Stalled"), reported(path))
	again := Scenario{Name: "mpi-delete-create", Manifest: job("", never, mpiRole{replicas: 1}),
		End: all(state("Succeeded"), at("launcher Succeeded", "worker-0 Running"))}
	once := again
	again.Steps = []Step{drop(metav1.DeletePropagationBackground, all(runWithoutService("launcher"), discovers(1, 1))), anew(once),
		endMPI("launcher", 2, 0, all(owns(2, "ConfigMap", "Role", "RoleBinding", "ServiceAccount"), discovers(1, 1)))}
	return []Scenario{
		{Name: "mpi-succeed", Manifest: job(running, never, two), Steps: []Step{endMPI("launcher", 1, 0, started)},
			End: all(state("Succeeded"), at("launcher Succeeded"))},
		{Name: "mpi-launcher-fails", Manifest: job(clean, never, two), Steps: []Step{endMPI("launcher", 1, 1, started)},
			End: all(state("Failed"), at())},
		{Name: "mpi-worker-fails", Manifest: job(running, never, two), Steps: []Step{endMPI("worker-1", 1, 1, started)},
			End: all(state("Failed"), at("worker-1 Failed"))},
		{Name: "mpi-worker-restarts", Slow: aPause, Manifest: job("", never, mpiRole{replicas: 2, fields: retry}),
			Steps: []Step{endMPI("worker-1", 1, 137, started), endMPI("launcher", 1, 0, all(started, second("worker-1")))},
			End:   all(state("Succeeded"), at("launcher Succeeded", "worker-0 Running", "worker-1 Running"))},
		{Name: "mpi-launcher-restarts", Slow: aPause, Manifest: job(running, mpiRole{fields: retry}, two),
			Steps: []Step{endMPI("launcher", 1, 137, started), endMPI("launcher", 2, 0, started)},
			End:   all(state("Succeeded"), at("launcher Succeeded"))},
		{Name: "mpi-suspend-resume", Manifest: job(running, never, two),
			Steps: []Step{edit("suspend", started, suspend), edit("resume", all(was("Suspended"), at()), resume), endMPI("launcher", 2, 0, started)},
			End:   all(state("Succeeded"), at("launcher Succeeded"))},
		{Name: "mpi-scale", Manifest: job("", never, two),
			Steps: []Step{edit("three workers", started, scaled(3)), edit("one worker", all(runWithoutService("worker-2"), discovers(3, 3)), scaled(1))},
			End:   all(state("Running"), active("Worker", 1), at("launcher Running", "worker-0 Running"), discovers(1, 1))},
		// The operator's own service account is deleted, and the binding is for the user's, which the operator does not create for
		// existing pods. A Role that another client has changed is repaired before the job is over: afterwards it stays as it is.
		{Name: "mpi-account", Manifest: job(running, never, two),
			Steps: []Step{edit("another account", started,
				`{"spec":{"mpiReplicaSpecs":{"Launcher":{"template":{"spec":{"serviceAccountName":"{name}-own","containers":[{"name":"mpi","image":"mpi:1"}]}}}}}}`),
				endMPI("launcher", 1, 0, all(bound("{name}-own"), execs(2), discovers(2, 2), dependents("ConfigMap", "Role", "RoleBinding")))},
			End: all(state("Succeeded"), podsOnly("launcher Succeeded"), dependents("ConfigMap", "Role", "RoleBinding"))},
		again,
		{Name: "mpi-malformed-repaired", Paths: []string{path},
			Manifest: job(running, never, mpiRole{replicas: 2, container: `resources: {limits: {cpu: "1e1.5"}}`}),
			Steps: []Step{edit("repair", known, `{"spec":{"mpiReplicaSpecs":{"Worker":{"template":{"spec":{"containers":[{"name":"mpi","image":"mpi:1"}]}}}}}}`),
				endMPI("launcher", 1, 0, started)},
			End: all(state("Succeeded"), at("launcher Succeeded"))},
	}
}
