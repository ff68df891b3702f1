package integration

import (
	"fmt"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"stoic/schema"
	"stoic/training"
)

// The steps of cases to where a right is needed, and what holds once it is granted. Each job has the same name.
const jobName = "job"

// step is one step of a case.
type step = func(t *testing.T, r *rig, ns string)

// then takes steps one after the other.
func then(steps ...step) step {
	return func(t *testing.T, r *rig, ns string) {
		for _, one := range steps {
			one(t, r, ns)
		}
	}
}

// mains returns the replica types that a job must have.
func mains(kind *training.Kind) []string {
	if kind.Name == "MPIJob" {
		return []string{"Launcher", "Worker"}
	}
	return []string{"Worker"}
}

// jobOf returns a job of a kind, whose first replica succeeds after a time, or never if that is empty.
func jobOf(kind *training.Kind, policy map[string]any, after string) string {
	rtypes := map[string]any{}
	for i, name := range mains(kind) {
		annotations := map[string]string{}
		if after != "" && i == 0 {
			annotations = map[string]string{"simulation.stoic/exit-code": "0", "simulation.stoic/run-for": after}
		}
		rtypes[name] = replicaTypeOf(kind, 1, "Never", annotations)
	}
	return string(schema.JSON(map[string]any{"apiVersion": kind.APIVersion(), "kind": kind.Name, "metadata": map[string]any{"name": jobName},
		"spec": map[string]any{"runPolicy": policy, kind.ReplicaSpecsField: rtypes}}))
}

// edit patches the job.
func (r *rig) edit(t *testing.T, ns, patch string) {
	t.Helper()
	mergePatch(t, r.jobs(ns), jobName, patch)
}

func begins(t *testing.T, r *rig, ns string) { r.apply(t, ns, jobOf(r.kind, nil, "")) }

func runs(t *testing.T, r *rig, ns string) { r.awaitState(t, ns, jobName, training.Running) }

func scales(t *testing.T, r *rig, ns string) {
	r.edit(t, ns, `{"spec":{"tfReplicaSpecs":{"Worker":{"replicas":2}}}}`)
}

func suspends(t *testing.T, r *rig, ns string) {
	r.edit(t, ns, `{"spec":{"runPolicy":{"suspend":true}}}`)
}

// endsClean: a job ends, and all of its pods must be deleted.
func endsClean(t *testing.T, r *rig, ns string) {
	r.apply(t, ns, jobOf(r.kind, map[string]any{"cleanPodPolicy": "All"}, "1s"))
}

func cleaned(t *testing.T, r *rig, ns string) {
	t.Helper()
	r.awaitState(t, ns, jobName, training.Succeeded)
	await(t, "pods and services to be gone", func() (bool, string) {
		services, err := r.typed.CoreV1().Services(ns).List(t.Context(), metav1.ListOptions{LabelSelector: training.LabelJob + "=" + jobName})
		if err != nil {
			t.Fatal(err)
		}
		pods := r.pods(t, ns, jobName)
		return len(pods)+len(services.Items) == 0, fmt.Sprint(pods, len(services.Items))
	})
}

// finished: the job has succeeded long ago, and its time to live is over.
func finished(t *testing.T, r *rig, ns string) {
	r.apply(t, ns, jobOf(r.kind, map[string]any{"ttlSecondsAfterFinished": 60}, ""))
	counts := map[string]any{}
	for i, name := range mains(r.kind) {
		counts[name] = map[string]any{}
		if i == 0 {
			counts[name] = map[string]any{"succeeded": 1}
		}
	}
	condition := func(kind training.ConditionType, status, reason string) map[string]any {
		return map[string]any{"type": kind, "status": status, "reason": r.kind.Reason(reason), "message": "Long ago.",
			"lastTransitionTime": "2026-01-01T00:00:00Z", "lastUpdateTime": "2026-01-01T00:00:00Z"}
	}
	status := schema.JSON(map[string]any{"status": map[string]any{"startTime": "2026-01-01T00:00:00Z", "completionTime": "2026-01-01T00:00:00Z", "observedGeneration": 1,
		"conditions": []any{condition(training.Created, "True", training.ReasonCreated), condition(training.Running, "False", training.ReasonRunning),
			condition(training.Succeeded, "True", training.ReasonSucceeded)},
		"replicaStatuses": counts}})
	if _, err := r.jobs(ns).Patch(t.Context(), jobName, types.MergePatchType, status, metav1.PatchOptions{}, "status"); err != nil {
		t.Fatal(err)
	}
}

func jobDeleted(t *testing.T, r *rig, ns string) {
	t.Helper()
	await(t, "the job to be deleted", func() (bool, string) { return r.raw(t, ns, jobName) == nil, "it is there" })
}

// taken: another owner has an object with the name that the job needs.
func taken(resource string) step {
	manifests := map[string]string{
		"pods":      `{apiVersion: v1, kind: Pod, metadata: {name: job-worker-0}, spec: {containers: [{name: a, image: "a:1"}]}}`,
		"services":  `{apiVersion: v1, kind: Service, metadata: {name: job-worker-0}, spec: {clusterIP: None}}`,
		"podgroups": `{apiVersion: scheduling.volcano.sh/v1beta1, kind: PodGroup, metadata: {name: job}, spec: {minMember: 9}}`,
	}
	return func(t *testing.T, r *rig, ns string) { r.apply(t, ns, manifests[resource]) }
}

func conflicts(t *testing.T, r *rig, ns string) {
	r.awaitReason(t, ns, jobName, training.ReasonNameConflict)
}
