package scenario

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"stoic/test/faults/history"
)

// mpiJobs returns the resource of MPIJobs of a version of kubeflow.org.
func mpiJobs(version string) schema.GroupVersionResource {
	return schema.GroupVersionResource{Group: "kubeflow.org", Version: version, Resource: "mpijobs"}
}

// mpiJob is the manifest of an MPIJob: its own fields, its run policy, and the fields beside the containers of the two replica
// types. Each is a list of fields in YAML's flow style.
type mpiJob struct {
	version, options, policy string
	launcher, worker         mpiRole
}

type mpiRole struct {
	replicas          int
	fields, container string
}

func (j mpiJob) manifest(name string) string {
	role := func(r mpiRole) string {
		return fmt.Sprintf("replicas: %d%s, template: {spec: {containers: [{name: mpi, image: \"mpi:1\"%s}]}}", r.replicas, before(r.fields), before(r.container))
	}
	j.launcher.replicas = 1
	return fmt.Sprintf("apiVersion: kubeflow.org/%s\nkind: MPIJob\nmetadata: {name: %s}\nspec: {runPolicy: {%s}%s, mpiReplicaSpecs: {Launcher: {%s}, Worker: {%s}}}\n",
		j.version, name, j.policy, before(j.options), role(j.launcher), role(j.worker))
}

// before puts a comma in front of fields, if there are any.
func before(fields string) string {
	if fields == "" {
		return ""
	}
	return ", " + fields
}

// scaled returns a merge patch that sets the number of workers.
func scaled(workers int) string {
	return fmt.Sprintf(`{"spec":{"mpiReplicaSpecs":{"Worker":{"replicas":%d}}}}`, workers)
}

const suspend, resume = `{"spec":{"runPolicy":{"suspend":true}}}`, `{"spec":{"runPolicy":{"suspend":false}}}`

// runWithoutService: these pods run, whatever else exists.
func runWithoutService(names ...string) Check {
	return func(v history.View) (bool, string) {
		for _, name := range names {
			if !runs(v.Pod(v.Name + "-" + name)) {
				return false, fmt.Sprintf("pod %s does not run; %s", name, describe(v))
			}
		}
		return true, ""
	}
}

// podsOnly: these pods exist, by name and phase ("worker-0 Running"), and no others. The pod of a batch/v1 Job has the name of the Job.
func podsOnly(wanted ...string) Check {
	return func(v history.View) (bool, string) {
		var pods []string
		for _, u := range v.Pods {
			text := strings.TrimPrefix(strings.TrimSuffix(history.NameOf(u), "-"+history.Generated), v.Name+"-") + " " + history.Phase(u)
			if u.GetDeletionTimestamp() != nil {
				text += " deleting"
			}
			pods = append(pods, text)
		}
		slices.Sort(pods)
		return slices.Equal(pods, wanted), fmt.Sprintf("want the pods %v; %s", wanted, describe(v))
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
		found, lines := strings.Count(script, "echo "), strings.Count(file, "\n")
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

// batchEnded: the batch/v1 Job is complete, or has failed.
func batchEnded(job *unstructured.Unstructured) bool {
	return history.Is(job, "Complete") || history.Is(job, "Failed")
}

func batchSuspended(job *unstructured.Unstructured) bool {
	if job == nil {
		return false
	}
	is, _, _ := unstructured.NestedBool(job.Object, "spec", "suspend")
	return is
}

// rests: the batch/v1 Job exists and is suspended, and no pods exist.
func rests(v history.View) (bool, string) {
	return batchSuspended(batchJob(v)) && len(v.Pods) == 0, "want a suspended launcher and no pods; " + describe(v)
}

// launches: the batch/v1 Job exists, and its pod runs.
func launches(v history.View) (bool, string) {
	return batchJob(v) != nil && launcherOf(v) != nil, "want a launcher that runs; " + describe(v)
}

// launcherOf returns the running pod of the batch/v1 Job, or nil.
func launcherOf(v history.View) *unstructured.Unstructured {
	for _, u := range launchersOf(v) {
		if runs(u) {
			return u
		}
	}
	return nil
}

// launchersOf returns the pods of the batch/v1 Job.
func launchersOf(v history.View) (found []*unstructured.Unstructured) {
	job := batchJob(v)
	for _, u := range v.Pods {
		if job != nil && history.Owner(u) == job.GetUID() {
			found = append(found, u)
		}
	}
	return found
}

func isLauncher(job string, pod *unstructured.Unstructured) bool {
	return strings.HasPrefix(pod.GetName(), job+"-launcher")
}

// endLauncher is a kubelet's step: the n-th pod of the launcher's batch/v1 Job that ends by itself does so, with an exit code.
func endLauncher(n int, code int64, when Check) Step {
	past := func(v history.View) (bool, string) {
		job, count := batchJob(v), 0
		for _, u := range launchersOf(v) {
			if ended(u) {
				count++
			}
		}
		if job != nil {
			failed, _, _ := unstructured.NestedInt64(job.Object, "status", "failed")
			count = max(count, int(failed))
		}
		return count >= n || job != nil && batchEnded(job) || v.Job != nil && settledJob(v.Job), describe(v)
	}
	return Step{Name: fmt.Sprintf("launcher %d ends with %d", n, code), When: either(past, all(launches, when)), Do: func(ctx context.Context, a Actor) error {
		view := a.Run.View()
		if done, _ := past(view); done {
			return nil
		}
		return a.conclude(ctx, launcherOf(view), code)
	}}
}

// settledJob: the job is over. A malformed job may still be repaired.
func settledJob(job *unstructured.Unstructured) bool {
	state := history.State(job)
	return state.Type == "Succeeded" || state.Type == "Failed" && state.Reason != "InvalidSpec"
}

// evict is a kubelet's step: the first pod of that name is evicted from its node.
func evict(name string, when Check) Step {
	evicted := func(v history.View) (bool, string) {
		pod := v.Pod(v.Name + "-" + name)
		return v.Job != nil && settledJob(v.Job) || pod != nil && (v.Incarnations[pod.GetUID()] > 1 || ended(pod)), describe(v)
	}
	return Step{Name: "pod " + name + " is evicted", When: either(evicted, all(runWithoutService(name), when)), Do: func(ctx context.Context, a Actor) error {
		view := a.Run.View()
		if done, _ := evicted(view); done {
			return nil
		}
		pod := view.Pod(view.Name + "-" + name)
		if pod == nil {
			return fmt.Errorf("job %s/%s: the pod %s is gone", a.Namespace, a.Job, name)
		}
		return a.patchStatus(ctx, pod, types.StrategicMergePatchType, map[string]any{"phase": "Failed", "reason": "Evicted",
			"message": "The node was low on resource: memory.", "conditions": []any{map[string]any{"type": "Ready", "status": "False"}}})
	}}
}

// anew is the user's step: another job of the same name, once the first no longer exists.
func anew(once Scenario) Step {
	there := func(v history.View) (bool, string) {
		return v.Job == nil || v.Incarnations[v.Job.GetUID()] == 2, describe(v)
	}
	return Step{Name: "create another of the same name", When: there, Do: func(ctx context.Context, a Actor) error { return a.create(ctx, once) }}
}

// owns: the existing job controls an object of each of these kinds, and so many pods.
func owns(pods int, kinds ...string) Check {
	return func(v history.View) (bool, string) {
		if v.Job == nil {
			return false, describe(v)
		}
		mine := func(u *unstructured.Unstructured) bool { return history.Owner(u) == v.Job.GetUID() }
		for _, kind := range kinds {
			if u := v.Dependent(kind); u == nil || !mine(u) {
				return false, fmt.Sprintf("want its own %s; %s", kind, describe(v))
			}
		}
		count := 0
		for _, u := range v.Pods {
			if mine(u) && runs(u) {
				count++
			}
		}
		return count == pods, fmt.Sprintf("want %d pods of its own, found %d; %s", pods, count, describe(v))
	}
}

// endMPI is a kubelet's step: the n-th pod of that name ends with an exit code when the check holds. It waits for no service.
func endMPI(name string, n int, code int64, when Check) Step {
	past := func(v history.View) (bool, string) {
		pod := v.Pod(v.Name + "-" + name)
		return pod != nil && (v.Incarnations[pod.GetUID()] > n || v.Incarnations[pod.GetUID()] == n && ended(pod)), describe(v)
	}
	ready := func(v history.View) (bool, string) {
		pod := v.Pod(v.Name + "-" + name)
		if !runs(pod) || v.Incarnations[pod.GetUID()] != n {
			return false, fmt.Sprintf("pod %s does not run for the time %d; %s", name, n, describe(v))
		}
		return when(v)
	}
	return Step{Name: fmt.Sprintf("pod %s ends with %d", name, code), When: either(past, ready), Do: func(ctx context.Context, a Actor) error {
		view := a.Run.View()
		if done, _ := past(view); done {
			return nil
		}
		return a.conclude(ctx, view.Pod(view.Name+"-"+name), code)
	}}
}

// second: the pod of that name runs for the second time.
func second(name string) Check {
	return func(v history.View) (bool, string) {
		pod := v.Pod(v.Name + "-" + name)
		return pod != nil && runs(pod) && v.Incarnations[pod.GetUID()] == 2, "want the second " + name + "; " + describe(v)
	}
}

// bound: the RoleBinding is for that service account alone.
func bound(account string) Check {
	return func(v history.View) (bool, string) {
		binding := v.Dependent("RoleBinding")
		if binding == nil {
			return false, "no RoleBinding; " + describe(v)
		}
		subjects, _, _ := unstructured.NestedSlice(binding.Object, "subjects")
		if len(subjects) == 1 {
			subject, _ := subjects[0].(map[string]any)
			return subject["name"] == fill(account, v.Subject), fmt.Sprintf("it is bound to %v", subject["name"])
		}
		return false, fmt.Sprintf("%d subjects", len(subjects))
	}
}

// execs: the Role lets the launcher exec into so many workers, and into nothing else.
func execs(workers int) Check {
	return func(v history.View) (bool, string) {
		role := v.Dependent("Role")
		if role == nil {
			return false, "no Role; " + describe(v)
		}
		rules, _, _ := unstructured.NestedSlice(role.Object, "rules")
		found := []string{}
		for _, rule := range rules {
			rule, _ := rule.(map[string]any)
			resources, _, _ := unstructured.NestedStringSlice(rule, "resources")
			if slices.Contains(resources, "pods/exec") {
				names, _, _ := unstructured.NestedStringSlice(rule, "resourceNames")
				found = append(found, names...)
			}
		}
		return len(found) == workers, fmt.Sprintf("the Role lets exec into %v, want %d workers", found, workers)
	}
}

// batchAgain: the batch/v1 Job of the launcher is the second one.
func batchAgain(v history.View) (bool, string) {
	job := batchJob(v)
	return job != nil && v.Incarnations[job.GetUID()] == 2, "want the second Job; " + describe(v)
}
