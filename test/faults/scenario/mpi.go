package scenario

import (
	"fmt"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"stoic/test/faults/history"
)

func rbac(plural string) schema.GroupVersionResource {
	return schema.GroupVersionResource{Group: "rbac.authorization.k8s.io", Version: "v1", Resource: plural}
}

func batchJobs() schema.GroupVersionResource {
	return schema.GroupVersionResource{Group: "batch", Version: "v1", Resource: "jobs"}
}

// mpiV2Beta1 returns the training operator with MPIJobs of kubeflow.org/v2beta1: workers, and a launcher that a batch/v1 Job
// runs. The Job's controller is that of the control plane, so the launcher's pod is the second step of a chain of owners. The
// operator does not observe the Service and the Secret after their creation.
func mpiV2Beta1() *Operator {
	o := training()
	o.Name = "mpi-v2beta1"
	o.Scenarios = mpiV2Beta1Scenarios()
	o.Permissions = append(o.Permissions, "deploy/mpijob-v2beta1/rbac.yaml")
	o.CRDs = []string{"test/fixtures/mpijobs-v2beta1-open.yaml"}
	o.Resource = jobsOf("v2beta1", "mpijobs")
	o.Dependents = []schema.GroupVersionResource{core("pods"), core("configmaps"), batchJobs()}
	o.Unwatched = []schema.GroupVersionResource{core("secrets"), core("services")}
	return o
}

// mpiJob returns the manifest of an MPIJob with fields of the spec, of the run policy, of the launcher and of the workers, in YAML's
// flow style, each with a comma behind it.
func mpiJob(version, spec, policy, launcher, worker string) func(string) string {
	const template = `template: {spec: {containers: [{name: mpi, image: "mpi:1"}]}}`
	return func(name string) string {
		return fmt.Sprintf("apiVersion: kubeflow.org/%s\nkind: MPIJob\nmetadata: {name: %s}\nspec: {%s runPolicy: {%s}, mpiReplicaSpecs: {Launcher: {%s replicas: 1, %s}, Worker: {%s %s}}}\n",
			version, name, spec, policy, launcher, template, worker, template)
	}
}

// scaled returns a merge patch that sets the number of workers.
func scaled(workers int) string {
	return fmt.Sprintf(`{"spec":{"mpiReplicaSpecs":{"Worker":{"replicas":%d}}}}`, workers)
}

func mpiScenarios() []Scenario {
	const (
		running = "cleanPodPolicy: Running"
		one     = "replicas: 1,"
		two     = "replicas: 2,"
		retry   = "restartPolicy: ExitCode,"
	)
	job := func(policy, launcher, worker string) func(string) string {
		return mpiJob("v1", "", policy, launcher, worker)
	}
	// What a launcher needs is kept when the job is over or suspended: a ConfigMap and an account cost nothing.
	at := func(names ...string) Check {
		return all(pods(names...), dependents("ConfigMap", "Role", "RoleBinding", "ServiceAccount"))
	}
	started := all(runs("launcher", "worker-0", "worker-1"), discovers(2, 2))
	again := Scenario{Name: "mpi-delete-create", Manifest: job("", "", one),
		End: all(state("Succeeded"), at("launcher Succeeded", "worker-0 Running"))}
	again.Resource = jobsOf("v1", "mpijobs")
	once := again
	again.Steps = []Step{drop(metav1.DeletePropagationBackground, all(runs("launcher"), discovers(1, 1))), createAgain(once),
		end("launcher", 2, 0, all(isNth(2, "worker-0"), owns("ConfigMap", "Role", "RoleBinding", "ServiceAccount"), discovers(1, 1)))}
	scenarios := []Scenario{
		{Name: "mpi-succeed", Manifest: job(running, "", two), Steps: []Step{end("launcher", 1, 0, started)},
			End: all(state("Succeeded"), at("launcher Succeeded"))},
		{Name: "mpi-worker-restarts", Manifest: job("", "", two+retry),
			Steps: []Step{end("worker-1", 1, 137, started), end("launcher", 1, 0, all(started, isNth(2, "worker-1")))},
			End:   all(state("Succeeded"), at("launcher Succeeded", "worker-0 Running", "worker-1 Running"))},
		{Name: "mpi-launcher-restarts", Manifest: job(running, retry, two),
			Steps: []Step{end("launcher", 1, 137, started), end("launcher", 2, 0, started)},
			End:   all(state("Succeeded"), at("launcher Succeeded"))},
		{Name: "mpi-suspend-resume", Manifest: job(running, "", two),
			Steps: []Step{edit("suspend", started, suspend), edit("resume", all(has("Suspended"), at()), resume), end("launcher", 2, 0, started)},
			End:   all(state("Succeeded"), at("launcher Succeeded"))},
		{Name: "mpi-scale", Manifest: job("", "", two),
			Steps: []Step{edit("three workers", started, scaled(3)), edit("one worker", all(runs("worker-2"), discovers(3, 3)), scaled(1))},
			End:   all(state("Running"), active(1), at("launcher Running", "worker-0 Running"), discovers(1, 1))},
		again,
	}
	for i := range scenarios {
		scenarios[i].Resource = jobsOf("v1", "mpijobs")
	}
	return scenarios
}

func mpiV2Beta1Scenarios() []Scenario {
	const (
		running = "cleanPodPolicy: Running"
		one     = "replicas: 1,"
		two     = "replicas: 2,"
		// This edit changes what no update of a Job may change: the Job is recreated.
		another = `{"spec":{"runPolicy":{"suspend":false},"mpiReplicaSpecs":{"Launcher":{"template":{"spec":{"terminationGracePeriodSeconds":7,"containers":[{"name":"mpi","image":"mpi:1"}]}}}}}}`
	)
	job := func(spec, policy, worker string) func(string) string {
		return mpiJob("v2beta1", spec, policy, "restartPolicy: Never,", worker)
	}
	at := func(names ...string) Check { return all(pods(names...), dependents("ConfigMap", "Job", "Secret")) }
	started := all(runs("launcher", "worker-0", "worker-1"), discovers(2, 2))
	isRebuilt := func(v history.View) (bool, string) {
		job := batchJob(v)
		return job != nil && v.Incarnations[job.GetUID()] == 2, "want the second Job; " + describe(v)
	}
	again := Scenario{Name: "mpi2-delete-create", Manifest: job("", "", one),
		End: all(state("Succeeded"), at("launcher Succeeded", "worker-0 Running"))}
	once := again
	again.Steps = []Step{drop(metav1.DeletePropagationBackground, all(runs("launcher"), discovers(1, 1))), createAgain(once),
		end("launcher", 2, 0, all(owns("ConfigMap", "Job", "Secret", "Pod"), runs("worker-0"), discovers(1, 1)))}
	return []Scenario{
		{Name: "mpi2-succeed", Manifest: job("", running, two), Steps: []Step{end("launcher", 1, 0, started)},
			End: all(state("Succeeded"), at("launcher Succeeded"))},
		{Name: "mpi2-resume-edited", Manifest: job("", running, two),
			Steps: []Step{edit("suspend", started, suspend), edit("resume with another template", all(has("Suspended"), rests), another), end("launcher", 2, 0, all(started, isRebuilt))},
			End:   all(state("Succeeded"), at("launcher Succeeded"))},
		{Name: "mpi2-scale", Manifest: job("runLauncherAsWorker: true,", "", two),
			Steps: []Step{edit("three workers", all(runs("launcher", "worker-0", "worker-1"), discovers(3, 3)), scaled(3)),
				edit("one worker", all(runs("worker-2"), discovers(4, 4)), scaled(1))},
			End: all(state("Running"), active(1), at("launcher Running", "worker-0 Running"), discovers(2, 2))},
		again,
	}
}

// discovers: the ConfigMap names so many running workers in the script that elastic programs call, and so many hosts in the
// hostfile. The ConfigMap of a job that ends before the operator has written them rightly never does: it stays as it is.
func discovers(running, hosts int) Check {
	return func(v history.View) (bool, string) {
		config := v.Dependent("ConfigMap")
		if config == nil {
			return false, "no ConfigMap; " + describe(v)
		}
		script, _, _ := unstructured.NestedString(config.Object, "data", "discover_hosts.sh")
		file, _, _ := unstructured.NestedString(config.Object, "data", "hostfile")
		found := strings.Count(script, "echo ")
		lines := strings.Count(file, "\n")
		return found == running && lines == hosts, fmt.Sprintf("the ConfigMap names %d running workers of %d, want %d of %d; %s", found, lines, running, hosts, describe(v))
	}
}

// batchJob returns the batch/v1 Job of the launcher, or nil. One that belongs to an earlier job of the same name does not count.
func batchJob(v history.View) *unstructured.Unstructured {
	if job := v.Dependent("Job"); job != nil && v.Job != nil && history.Owner(job) == v.Job.GetUID() {
		return job
	}
	return nil
}

func batchSuspended(job *unstructured.Unstructured) bool {
	if job == nil {
		return false
	}
	isSuspended, _, _ := unstructured.NestedBool(job.Object, "spec", "suspend")
	return isSuspended
}

// rests: the batch/v1 Job exists and is suspended, and no pods exist.
func rests(v history.View) (bool, string) {
	return batchSuspended(batchJob(v)) && len(v.Pods) == 0, "want a suspended launcher and no pods; " + describe(v)
}
