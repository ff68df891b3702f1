package integration

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"stoic/schema"
	"stoic/test/operator"
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

// ownedRole: an earlier operator has created the Role of the job, without labels, or another client has removed them.
func ownedRole(t *testing.T, r *rig, ns string) {
	begins(t, r, ns)
	isController := true
	owner := metav1.OwnerReference{APIVersion: r.kind.APIVersion(), Kind: r.kind.Name, Name: jobName, UID: r.raw(t, ns, jobName).GetUID(),
		Controller: &isController, BlockOwnerDeletion: &isController}
	role := &rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Name: jobName + "-launcher", OwnerReferences: []metav1.OwnerReference{owner}}}
	if _, err := r.typed.RbacV1().Roles(ns).Create(t.Context(), role, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
}

// roleIsLabelled: the Role belongs to the job, and the cache has it.
func roleIsLabelled(t *testing.T, r *rig, ns string) {
	t.Helper()
	r.awaitRole(t, ns, func(role *rbacv1.Role) bool { return role.Labels[training.LabelJob] == jobName })
}

// roleNamesWorker: the Role of the job lets its launcher exec into the workers that run.
func roleNamesWorker(t *testing.T, r *rig, ns string) {
	t.Helper()
	r.awaitRole(t, ns, func(role *rbacv1.Role) bool { return strings.Contains(fmt.Sprint(role.Rules), jobName+"-worker-0") })
}

func (r *rig) awaitRole(t *testing.T, ns string, is func(*rbacv1.Role) bool) {
	t.Helper()
	await(t, "the Role of the launcher", func() (bool, string) {
		role, err := r.typed.RbacV1().Roles(ns).Get(t.Context(), jobName+"-launcher", metav1.GetOptions{})
		return err == nil && is(role), fmt.Sprint(role, err)
	})
}

// nobodyReadsMetrics: with --metrics-secure, the operator cannot find out who may read the metrics.
func nobodyReadsMetrics(t *testing.T, r *rig, s shortage) {
	ns := s.name()
	p := &process{operator.InTest(t, operator.Options{Command: operator.Stoic(build(t, ".", r.flags...)), Kubeconfig: r.cluster.UserKubeconfig(ns),
		Namespace: ns, Flags: s.flags})}
	token := r.token(t, ns, "prometheus")
	reader := metav1.ObjectMeta{Name: "reader-" + ns}
	if _, err := r.typed.RbacV1().ClusterRoles().Create(t.Context(), &rbacv1.ClusterRole{ObjectMeta: reader,
		Rules: []rbacv1.PolicyRule{{NonResourceURLs: []string{"/metrics"}, Verbs: []string{"get"}}}}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	r.kubectl(t, nil, "create", "clusterrolebinding", reader.Name, "--clusterrole="+reader.Name, "--serviceaccount="+ns+":prometheus")
	get := func() (int, string) { return p.scrape(t, "/metrics", token) }
	if code, body := get(); code != http.StatusServiceUnavailable || strings.Contains(body, "# HELP") {
		t.Errorf("without the right to find out who asks: %d %.200s", code, body)
	}
	await(t, "the log to say what is missing", func() (bool, string) {
		get()
		return strings.Contains(p.Text(), inLog(s.words())), p.Tail()
	})
	p.answers(t, http.StatusOK)
	s.grant(t, r, shippedRules(t))
	await(t, "the metrics, which tell of the refusals", func() (bool, string) {
		code, body := get()
		return code == http.StatusOK && strings.Contains(body, fmt.Sprintf("training_operator_missing_rights_total{resource=%q,verb=%q}", s.resource, s.verb)), fmt.Sprintf("%d %.200s", code, body)
	})
}
