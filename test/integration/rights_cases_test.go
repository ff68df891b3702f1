package integration

import (
	"slices"
	"testing"

	"stoic/training"
	"stoic/training/kinds"
)

// shortage is a right that is removed, the steps to where it is needed, and the evidence that it is missing.
type shortage struct {
	right
	kind  *training.Kind // of the job
	flags []string       // of the operator
	event string         // reason of an event of the job that has the API server's words; "" if there is none
	// refused is the right as the API server names it, where that differs.
	refused refusal
	// needed: without it no job can be reconciled, and the process is not ready until it has listed once.
	needed bool
	// silent: the log reports nothing within a minute.
	silent bool

	before func(t *testing.T, r *rig, ns string) // by an administrator, before the operator starts
	reach  func(t *testing.T, r *rig, ns string) // while it runs
	heals  func(t *testing.T, r *rig, ns string) // what becomes true once the right is granted
}

type refusal struct{ verb, resource, words string }

// alike returns, for a resource without cases, a resource with which the operator does the same in the same code.
func alike() map[string]string {
	same := map[string]string{"podgroups.scheduling.x-k8s.io": "podgroups.scheduling.volcano.sh", "podgroups.scheduling.k8s.io": "podgroups.scheduling.volcano.sh",
		"workloads.scheduling.k8s.io": "podgroups.scheduling.volcano.sh", "horizontalpodautoscalers.autoscaling": "podgroups.scheduling.volcano.sh",
		"priorityclasses.scheduling.k8s.io": "podgroups.scheduling.volcano.sh", "jobs.batch": "podgroups.scheduling.volcano.sh", "jobs/status.batch": "tfjobs/status.kubeflow.org",
		"configmaps": "podgroups.scheduling.volcano.sh", "secrets": "podgroups.scheduling.volcano.sh", "serviceaccounts": "podgroups.scheduling.volcano.sh",
		"roles.rbac.authorization.k8s.io": "podgroups.scheduling.volcano.sh", "rolebindings.rbac.authorization.k8s.io": "podgroups.scheduling.volcano.sh"}
	for _, kind := range kinds.Served() {
		if kind.Name != "TFJob" {
			for _, sub := range []string{"", "/status", "/finalizers"} {
				same[kind.Plural+sub+"."+kind.Group] = "tfjobs" + sub + ".kubeflow.org"
			}
		}
	}
	return same
}

// shownElsewhere returns rights that concern no job, with the test that shows that they are needed.
func shownElsewhere() map[right]string {
	const lease = "coordination.k8s.io"
	return map[right]string{
		{"get", lease, "leases"}:                                   "TestLeaderElection",
		{"create", lease, "leases"}:                                "TestLeaderElection",
		{"update", lease, "leases"}:                                "TestLeaderElection",
		{"create", "authentication.k8s.io", "tokenreviews"}:        "TestMetrics/secure",
		{"create", "authorization.k8s.io", "subjectaccessreviews"}: "TestMetrics/secure",
	}
}

// shortages returns all cases.
func shortages() []shortage {
	return slices.Concat(ofJobs(), ofPods(), ofGroups(), ofLaunchers())
}

// listAndWatch returns the cases of what is listed and watched: the operator does that when it starts.
func listAndWatch(group, resource string, s shortage) (all []shortage) {
	for _, verb := range []string{"list", "watch"} {
		s.right = right{verb, group, resource}
		s.reach = begins
		if s.heals == nil {
			s.heals = runs
		}
		all = append(all, s)
	}
	return all
}

// ofJobs: the jobs themselves.
func ofJobs() []shortage {
	kind := kinds.TFJob()
	of := func(verb, subresource string) right { return right{verb, kind.Group, kind.Plural + subresource} }
	return like(shortage{kind: kind}, append(listAndWatch(kind.Group, kind.Plural, shortage{needed: true}),
		// A job whose time to live is over is deleted, and read before that.
		shortage{right: of("get", ""), before: finished, heals: jobDeleted},
		shortage{right: of("delete", ""), before: finished, heals: jobDeleted, event: training.ReasonDeleteJobFailed},
		// At the end the operator records which pods to delete.
		shortage{right: of("patch", ""), reach: endsClean, heals: cleaned},
		shortage{right: of("patch", "/status"), reach: begins, heals: runs, event: kind.Reason(training.ReasonFailedValidation)},
		shortage{right: of("update", "/finalizers"), reach: begins, heals: runs, event: training.ReasonCreateServiceFailed,
			refused: refusal{"update", "finalizers", "cannot set blockOwnerDeletion"}}))
}

// ofPods: pods, services and events.
func ofPods() (all []shortage) {
	for resource, reasons := range map[string][2]string{
		"pods":     {training.ReasonCreatePodFailed, training.ReasonDeletePodFailed},
		"services": {training.ReasonCreateServiceFailed, training.ReasonDeleteServiceFailed},
	} {
		all = append(all, listAndWatch("", resource, shortage{needed: true})...)
		all = append(all,
			shortage{right: right{"create", "", resource}, reach: begins, heals: runs, event: reasons[0]},
			shortage{right: right{"delete", "", resource}, reach: endsClean, heals: cleaned, event: reasons[1]},
			shortage{right: right{"get", "", resource}, before: taken(resource), reach: begins, heals: conflicts})
	}
	all = append(all, shortage{right: right{"create", "", "events"}, reach: begins, silent: true, heals: func(t *testing.T, r *rig, ns string) {
		r.awaitEvent(t, ns, jobName, func(event) bool { return true })
	}})
	return like(shortage{kind: kinds.TFJob()}, all)
}

// like sets what cases have in common.
func like(plain shortage, all []shortage) []shortage {
	for i := range all {
		all[i].kind, all[i].flags = plain.kind, plain.flags
	}
	return all
}

// ofGroups: the group of a job, as an object that a job has beside its pods.
func ofGroups() []shortage {
	of := training.PodGroups()
	reasons := training.DependentReasonsOf(of)
	made := func(t *testing.T, r *rig, ns string) { r.awaitDependent(t, of, ns, jobName, true) }
	is := func(verb string) right { return right{verb, of.Group, of.Plural} }
	return like(shortage{kind: kinds.TFJob(), flags: []string{"--gang-scheduler-name=volcano"}}, append(listAndWatch(of.Group, of.Plural, shortage{heals: made}),
		shortage{right: is("create"), reach: begins, heals: made, event: reasons.CreateFailed},
		shortage{right: is("get"), before: taken(of.Plural), reach: begins, heals: conflicts},
		shortage{right: is("patch"), reach: then(begins, made, scales), heals: func(t *testing.T, r *rig, ns string) {
			await(t, "the group to follow", func() (bool, string) {
				members := valueOf(r.awaitDependent(t, of, ns, jobName, true), "spec", "minMember")
				return members == "2", members
			})
		}, event: reasons.UpdateFailed},
		shortage{right: is("delete"), reach: then(begins, made, suspends), event: reasons.DeleteFailed,
			heals: func(t *testing.T, r *rig, ns string) { r.awaitDependent(t, of, ns, jobName, false) }}))
}

// ofLaunchers: what the launcher of an MPIJob needs to start processes in its workers. A user can grant only rights that he has.
func ofLaunchers() []shortage {
	return []shortage{{right: right{"create", "", "pods/exec"}, kind: kinds.MPIJob(), reach: begins, heals: runs, event: training.ReasonCreateDependentFailed,
		refused: refusal{"grant", "roles", "is attempting to grant RBAC permissions not currently held"}}}
}
