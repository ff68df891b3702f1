package integration

import (
	"path/filepath"
	"slices"
	"testing"

	"stoic/schema"
	"stoic/training"
	"stoic/training/kinds"
	"stoic/training/kinds/v2beta1"
)

// plane is a control plane on which cases run.
type plane struct {
	name  string
	crds  []string
	gangs bool     // it serves the groups of kube-scheduler's own gang scheduling, which are alpha
	more  []string // manifests of deploy that are no part of deploy/rbac
}

func planes() []plane {
	fixtures := filepath.Join(root, "test/fixtures")
	return []plane{
		{name: "v1", crds: []string{filepath.Join(root, "deploy/crd"), filepath.Join(fixtures, "podgroups-volcano.yaml"), filepath.Join(fixtures, "podgroups-plugin.yaml")}},
		{name: "v2beta1", crds: []string{filepath.Join(root, "deploy/mpijob-v2beta1/mpijobs.yaml")}, more: []string{"deploy/mpijob-v2beta1/rbac.yaml"}},
		{name: "native", crds: []string{filepath.Join(root, "deploy/crd/tfjobs.yaml")}, gangs: true},
	}
}

// shortage is a right that is removed, the steps to where it is needed, and the evidence that it is missing.
type shortage struct {
	right
	plane string
	kind  *training.Kind // of the job
	flags []string       // of the operator
	event string         // reason of an event of the job that has the API server's words; "" if there is none
	// refused is the right as the API server names it, where that differs.
	refused refusal
	// needed: without it no job can be reconciled, and the process is not ready until it has listed once.
	needed bool
	// silent: the log reports nothing within a minute.
	silent bool
	// often: it is tried in each run, not only nightly.
	often bool

	before func(t *testing.T, r *rig, ns string) // by an administrator, before the operator starts
	reach  func(t *testing.T, r *rig, ns string) // while it runs
	heals  func(t *testing.T, r *rig, ns string) // what becomes true once the right is granted
	// instead replaces all of that.
	instead func(t *testing.T, r *rig, s shortage)
}

type refusal struct{ verb, resource, words string }

// unnoticed returns rights whose absence no test notices, with the reasons why they are granted nevertheless.
func unnoticed() map[right]string { return map[right]string{} }

// shortages returns all cases.
func shortages() []shortage {
	return slices.Concat(ofKinds(), ofPods(), ofGangs(), ofNativeGangs(), ofAutoscalers(), ofMPIJobs(), ofMPIJobsV2Beta1(), ofProcess())
}

// read returns the cases of what is listed and watched: the operator does that when it starts.
func read(group, resource string, s shortage) (all []shortage) {
	for _, verb := range []string{"list", "watch"} {
		s.right = right{verb, group, resource}
		if s.reach == nil {
			s.reach = func(t *testing.T, r *rig, ns string) { r.store(t, ns, jobOf(r.kind, nil, "")) }
		}
		if s.heals == nil {
			s.heals = runs
		}
		all = append(all, s)
	}
	return all
}

// ofKinds: the jobs themselves. Another kind makes no difference, so each run tries one.
func ofKinds() (all []shortage) {
	for _, kind := range kinds.All() {
		plain := shortage{plane: "v1", kind: kind, often: kind.Name == "TFJob", needed: true}
		add := func(verb, resource string, s shortage) {
			s.right, s.plane, s.kind, s.often = right{verb, kind.Group, resource}, plain.plane, kind, plain.often
			all = append(all, s)
		}
		all = append(all, read(kind.Group, kind.Plural, plain)...)
		// A job whose time to live is over is deleted, and read before that.
		add("get", kind.Plural, shortage{before: finished, heals: jobDeleted})
		add("delete", kind.Plural, shortage{before: finished, heals: jobDeleted, event: training.ReasonDeleteJobFailed})
		// At the end the operator records which pods to delete.
		add("patch", kind.Plural, shortage{reach: endsClean, heals: cleaned})
		add("patch", kind.Plural+"/status", shortage{reach: begins, heals: runs, event: kind.Reason(training.ReasonFailedValidation)})
		add("update", kind.Plural+"/finalizers", shortage{reach: begins, heals: runs, event: training.ReasonCreateServiceFailed, refused: finalizers()})
	}
	for i := range all {
		if all[i].kind.Name == "MPIJob" && all[i].verb == "update" {
			all[i].event = training.ReasonCreateDependentFailed // its ConfigMap is created before its pods
		}
	}
	return all
}

func finalizers() refusal {
	return refusal{"update", "finalizers", "cannot set blockOwnerDeletion"}
}

// ofPods: pods, services and events.
func ofPods() (all []shortage) {
	plain := shortage{plane: "v1", kind: kinds.TFJob(), often: true}
	for resource, reasons := range map[string][2]string{
		"pods":     {training.ReasonCreatePodFailed, training.ReasonDeletePodFailed},
		"services": {training.ReasonCreateServiceFailed, training.ReasonDeleteServiceFailed},
	} {
		all = append(all, read("", resource, shortage{needed: true})...)
		all = append(all,
			shortage{right: right{"create", "", resource}, reach: begins, heals: runs, event: reasons[0]},
			shortage{right: right{"delete", "", resource}, reach: endsClean, heals: cleaned, event: reasons[1]},
			shortage{right: right{"get", "", resource}, before: taken(resource), reach: begins, heals: conflicts})
	}
	all = append(all, shortage{right: right{"create", "", "events"}, reach: begins, silent: true, heals: func(t *testing.T, r *rig, ns string) {
		r.awaitEvent(t, ns, jobName, func(event) bool { return true })
	}})
	return like(plain, all)
}

// like sets what cases have in common.
func like(plain shortage, all []shortage) []shortage {
	for i := range all {
		all[i].plane, all[i].kind, all[i].flags, all[i].often = plain.plane, plain.kind, plain.flags, all[i].often || plain.often
	}
	return all
}

// ofGroups returns the cases of the single object that a job has beside its pods, under its own name.
func ofGroups(of schema.Resource, u upkeep) []shortage {
	made := func(t *testing.T, r *rig, ns string) { u.there(t, r, ns) }
	all := read(of.Group, of.Plural, shortage{reach: u.begins, heals: made})
	return append(all,
		shortage{right: right{"create", of.Group, of.Plural}, reach: u.begins, heals: made, event: u.reasons.CreateFailed, often: true},
		shortage{right: right{"get", of.Group, of.Plural}, before: taken(of.Plural + "." + of.Group), reach: u.begins, heals: conflicts},
		shortage{right: right{"patch", of.Group, of.Plural}, reach: then(u.begins, made, u.changes), heals: u.changed, event: u.reasons.UpdateFailed},
		shortage{right: right{"delete", of.Group, of.Plural}, reach: then(u.begins, made, suspends), event: u.reasons.DeleteFailed, often: true,
			heals: func(t *testing.T, r *rig, ns string) { r.awaitDependent(t, of, ns, jobName, false) }})
}

// ofGangs: groups of Volcano and of the coscheduling plugin, and the priorities that both use.
func ofGangs() []shortage {
	reasons := training.DependentReasonsOf(training.PodGroups())
	volcano := like(shortage{plane: "v1", kind: kinds.TFJob(), flags: []string{"--gang-scheduler-name=volcano"}},
		append(ofGroups(training.PodGroups(), groupUpkeep(training.PodGroups(), reasons)),
			read("scheduling.k8s.io", "priorityclasses", shortage{reach: begins, heals: groupUpkeep(training.PodGroups(), reasons).there})...))
	plugin := like(shortage{plane: "v1", kind: kinds.TFJob(), flags: []string{"--gang-scheduler-name=default-scheduler"}},
		ofGroups(training.PluginPodGroups(), groupUpkeep(training.PluginPodGroups(), reasons)))
	for i := range plugin {
		plugin[i].often = false
	}
	return slices.Concat(volcano, plugin)
}

// ofNativeGangs: the objects that kube-scheduler itself uses.
func ofNativeGangs() (all []shortage) {
	workloads, groups := nativeKinds()
	for _, of := range []schema.Resource{workloads, groups} {
		all = append(all, ofGroups(of, groupUpkeep(of, training.DependentReasonsOf(of)))...)
	}
	for i := range all {
		all[i].often = false
		if all[i].right == (right{"patch", workloads.Group, workloads.Plural}) { // it is not changed, except its labels
			all[i].before, all[i].reach, all[i].heals, all[i].event = owned(workloads, jobName, false), nil, labelled(workloads, jobName), ""
		}
	}
	return like(shortage{plane: "native", kind: kinds.TFJob(), flags: []string{"--native-gang-scheduling"}}, all)
}

func ofAutoscalers() []shortage {
	return like(shortage{plane: "v1", kind: kinds.PyTorchJob()}, ofGroups(training.Autoscalers(), autoscalerUpkeep()))
}

// ofMPIJobs: what the launcher of an MPIJob needs to start processes in its workers.
func ofMPIJobs() (all []shortage) {
	failed := training.ReasonCreateDependentFailed
	for of, name := range mpiDependents(jobName) {
		all = append(all, read(of.Group, of.Plural, shortage{})...)
		all = append(all,
			shortage{right: right{"create", of.Group, of.Plural}, reach: begins, heals: runs, event: failed, often: true},
			shortage{right: right{"get", of.Group, of.Plural}, before: owned(of, name, false), heals: labelled(of, name)},
			shortage{right: right{"patch", of.Group, of.Plural}, before: owned(of, name, false), heals: labelled(of, name)})
	}
	all = append(all,
		// The user names another service account: the created one is deleted.
		shortage{right: right{"delete", "", "serviceaccounts"}, reach: then(begins, runs, namesAccount), heals: func(t *testing.T, r *rig, ns string) {
			r.awaitDependent(t, training.ServiceAccounts(), ns, jobName+"-launcher", false)
		}, event: training.ReasonDeleteDependentFailed},
		// A binding to another role cannot be changed, so it is recreated.
		shortage{right: right{"delete", "rbac.authorization.k8s.io", "rolebindings"}, before: owned(training.RoleBindings(), jobName+"-launcher", true),
			heals: bindsOwnRole, event: training.ReasonDeleteDependentFailed},
		// A user can grant only rights that he has.
		shortage{right: right{"create", "", "pods/exec"}, reach: begins, heals: namesWorkers, often: true, event: training.ReasonCreateDependentFailed,
			refused: refusal{"grant", "roles", "is attempting to grant RBAC permissions not currently held"}})
	return like(shortage{plane: "v1", kind: kinds.MPIJob()}, all)
}

// ofMPIJobsV2Beta1: beyond ofMPIJobs, a key and a Job that runs the launcher.
func ofMPIJobsV2Beta1() []shortage {
	failed := training.ReasonCreateDependentFailed
	all := read("batch", "jobs", shortage{needed: true})
	all = append(all,
		shortage{right: right{"create", "", "secrets"}, reach: begins, heals: runs, event: failed, often: true},
		shortage{right: right{"get", "", "secrets"}, before: taken("secrets"), reach: begins, heals: conflicts},
		shortage{right: right{"create", "batch", "jobs"}, reach: begins, heals: launched, event: failed, often: true},
		shortage{right: right{"get", "batch", "jobs"}, before: taken("jobs.batch"), reach: begins, heals: conflicts},
		shortage{right: right{"patch", "batch", "jobs"}, reach: then(begins, launched, suspends), heals: launcherRests, event: training.ReasonUpdateDependentFailed},
		shortage{right: right{"delete", "batch", "jobs"}, reach: then(begins, launched, suspends, launcherRests, changesLauncher), heals: launchedAnew,
			event: training.ReasonDeleteDependentFailed},
		shortage{right: right{"patch", "batch", "jobs/status"}, reach: then(begins, launched, suspends, launcherRests, beganBefore, movesLauncher), heals: launched,
			event: training.ReasonUpdateDependentFailed})
	return like(shortage{plane: "v2beta1", kind: v2beta1.MPIJob()}, all)
}

// ofProcess: what concerns no job.
func ofProcess() []shortage {
	elects := []string{"--leader-elect"}
	const lease = "coordination.k8s.io"
	all := []shortage{
		{right: right{"get", lease, "leases"}, instead: leaseMissing, flags: elects},
		{right: right{"create", lease, "leases"}, instead: leaseMissing, flags: elects},
		{right: right{"update", lease, "leases"}, instead: leaseLost, flags: elects},
		{right: right{"create", "authentication.k8s.io", "tokenreviews"}, instead: nobodyReadsMetrics, flags: []string{"--metrics-secure"}},
		{right: right{"create", "authorization.k8s.io", "subjectaccessreviews"}, instead: nobodyReadsMetrics, flags: []string{"--metrics-secure"}},
	}
	for i := range all {
		all[i].plane, all[i].kind, all[i].often = "v1", kinds.TFJob(), true
		if all[i].group == lease {
			all[i].flags = append(slices.Clone(elects), "--leader-election-namespace="+all[i].name())
		}
	}
	return all
}
