package scenario

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"stoic/test/faults/oracle"
	"stoic/training/kinds/v2beta1"
)

// mpiV2Beta1 returns the training operator with MPIJobs of kubeflow.org/v2beta1: workers, and a launcher that a batch/v1 Job
// runs. The Job's controller is that of the control plane, so the launcher's pod is the second step of a chain of owners. The
// operator does not observe the Service and the Secret after their creation.
func mpiV2Beta1() *Operator {
	o := training()
	o.Name, o.Apart, o.Canary, o.Share, o.Scenarios = "mpi-v2beta1", true, false, 8, mpiV2Beta1Scenarios()
	o.Permissions = append(o.Permissions, "deploy/mpijob-v2beta1/rbac.yaml")
	o.CRDs = []string{"test/fixtures/mpijobs-v2beta1-open.yaml"}
	o.Resource = mpiJobs("v2beta1")
	o.Dependents = []schema.GroupVersionResource{core("pods"), core("configmaps"), batchJobs()}
	o.Unwatched = []schema.GroupVersionResource{core("secrets"), core("services")}
	o.Rules.Always = append([]func(*oracle.Case) []string{launcherLast, oneKey, keyFirst, secretsUnread, launcherRestsFirst}, o.Rules.Always...)
	o.Goals, o.Watches, o.Schemas = mpiGoals(), watchesOf(v2beta1.MPIJob()), "deploy/mpijob-v2beta1/mpijobs.yaml"
	o.Sample = []string{"mpi2-waits", "mpi2-suspend-resume"}
	o.Contents = map[string]map[string]any{
		"configmaps": {"no data": map[string]any{"data": nil}, "another hostfile": map[string]any{"data": map[string]any{"hostfile": "elsewhere slots=7\n"}}},
		"jobs":       {"other limits": map[string]any{"spec": map[string]any{"backoffLimit": 77, "activeDeadlineSeconds": 7777}}, "suspended": map[string]any{"spec": map[string]any{"suspend": true}}},
	}
	return o
}

func batchJobs() schema.GroupVersionResource {
	return schema.GroupVersionResource{Group: "batch", Version: "v1", Resource: "jobs"}
}

func mpiV2Beta1Scenarios() []Scenario {
	const running, clean, path = "cleanPodPolicy: Running", "cleanPodPolicy: All", "spec.slotsPerWorker"
	job := func(options, policy string, worker mpiRole) func(string) string {
		return mpiJob{version: "v2beta1", options: options, policy: policy, launcher: mpiRole{fields: "restartPolicy: Never"}, worker: worker}.manifest
	}
	one, two := mpiRole{replicas: 1}, mpiRole{replicas: 2}
	kept := dependents("ConfigMap", "Job", "Secret")
	at := func(pods ...string) Check { return all(podsOnly(pods...), kept) }
	started := all(launches, runWithoutService("worker-0", "worker-1"), discovers(2, 2))
	known := all(was("Stalled"), reported(path))
	// This edit changes what no update of a Job may change: the Job is recreated.
	const another = `{"spec":{"runPolicy":{"suspend":false},"mpiReplicaSpecs":{"Launcher":{"template":{"spec":{"terminationGracePeriodSeconds":7,"containers":[{"name":"mpi","image":"mpi:1"}]}}}}}}`
	again := Scenario{Name: "mpi2-delete-create", Manifest: job("", "", one),
		End: all(state("Succeeded"), at("launcher Succeeded", "worker-0 Running"))}
	once := again
	again.Steps = []Step{drop(metav1.DeletePropagationBackground, all(launches, discovers(1, 1))), anew(once),
		endLauncher(1, 0, all(owns(1, "ConfigMap", "Job", "Secret"), discovers(1, 1)))}
	return []Scenario{
		{Name: "mpi2-succeed", Manifest: job("", running, two), Steps: []Step{endLauncher(1, 0, started)},
			End: all(state("Succeeded"), at("launcher Succeeded"))},
		{Name: "mpi2-waits", Manifest: job("launcherCreationPolicy: WaitForWorkersReady", clean, two), Steps: []Step{endLauncher(1, 0, started)},
			End: all(state("Succeeded"), at())},
		{Name: "mpi2-launcher-retries", Slow: aPause, Manifest: job("", running+", backoffLimit: 1", two),
			Steps: []Step{endLauncher(1, 3, started), endLauncher(2, 0, started)},
			End:   all(state("Succeeded"), at("launcher Failed", "launcher Succeeded"))},
		{Name: "mpi2-launcher-fails", Manifest: job("", clean+", backoffLimit: 0", two), Steps: []Step{endLauncher(1, 3, started)},
			End: all(state("Failed"), at())},
		{Name: "mpi2-worker-evicted", Slow: aPause, Manifest: job("", running, two),
			Steps: []Step{evict("worker-1", started), endLauncher(1, 0, all(started, second("worker-1")))},
			End:   all(state("Succeeded"), at("launcher Succeeded"))},
		{Name: "mpi2-worker-restarts", Slow: aPause, Manifest: job("", "", mpiRole{replicas: 2, fields: "restartPolicy: OnFailure"}),
			Steps: []Step{endMPI("worker-1", 1, 1, started), endLauncher(1, 0, all(started, second("worker-1")))},
			End:   all(state("Succeeded"), at("launcher Succeeded", "worker-0 Running", "worker-1 Running"))},
		{Name: "mpi2-suspend-resume", Manifest: job("", running, two),
			Steps: []Step{edit("suspend", started, suspend), edit("resume", all(was("Suspended"), rests), resume), endLauncher(1, 0, started)},
			End:   all(state("Succeeded"), at("launcher Succeeded"))},
		{Name: "mpi2-resume-edited", Manifest: job("", running, two),
			Steps: []Step{edit("suspend", started, suspend), edit("resume with another template", all(was("Suspended"), rests), another), endLauncher(1, 0, all(started, batchAgain))},
			End:   all(state("Succeeded"), at("launcher Succeeded"))},
		{Name: "mpi2-scale", Manifest: job("runLauncherAsWorker: true", "", two),
			Steps: []Step{edit("three workers", all(launches, runWithoutService("worker-0", "worker-1"), discovers(3, 3)), scaled(3)),
				edit("one worker", all(runWithoutService("worker-2"), discovers(4, 4)), scaled(1))},
			End: all(state("Running"), active("Worker", 1), at("launcher Running", "worker-0 Running"), discovers(2, 2))},
		again,
		{Name: "mpi2-malformed-repaired", Paths: []string{path}, Manifest: job("slotsPerWorker: -1", running, two),
			Steps: []Step{edit("repair", known, `{"spec":{"slotsPerWorker":1}}`), endLauncher(1, 0, started)},
			End:   all(state("Succeeded"), at("launcher Succeeded"))},
	}
}
