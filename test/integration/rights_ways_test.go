package integration

import (
	"crypto/tls"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/yaml"

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

// mains returns the replica types that a job of the kind must have.
func mains(kind *training.Kind) []string {
	switch kind.Name {
	case "MPIJob":
		return []string{"Launcher", "Worker"}
	case "PyTorchJob", "XGBoostJob":
		return []string{"Master"}
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

// store creates an object, which may be a dependent of a job, or a job.
func (r *rig) store(t *testing.T, ns, manifest string) *unstructured.Unstructured {
	t.Helper()
	u := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte(manifest), &u.Object); err != nil {
		t.Fatal(err)
	}
	of := r.kind.Resource()
	workloads, groups := nativeKinds()
	for _, known := range []schema.Resource{schema.Pods(), schema.Services(), schema.ConfigMaps(), schema.Secrets(), schema.Jobs(), training.ServiceAccounts(), training.Roles(),
		training.RoleBindings(), training.PodGroups(), training.PluginPodGroups(), training.Autoscalers(), workloads, groups} {
		if known.Kind == u.GetKind() && known.APIVersion() == u.GetAPIVersion() {
			of = known
		}
	}
	stored, err := r.client(of, ns).Create(t.Context(), u, metav1.CreateOptions{})
	if err != nil {
		t.Fatalf("store a %s: %v", u.GetKind(), err)
	}
	return stored
}

// edit patches the job.
func (r *rig) edit(t *testing.T, ns, patch string) {
	t.Helper()
	mergePatch(t, r.jobs(ns), jobName, patch)
}

func begins(t *testing.T, r *rig, ns string) { r.store(t, ns, jobOf(r.kind, nil, "")) }

func runs(t *testing.T, r *rig, ns string) { r.awaitState(t, ns, jobName, training.Running) }

func suspends(t *testing.T, r *rig, ns string) {
	r.edit(t, ns, `{"spec":{"runPolicy":{"suspend":true}}}`)
}

// endsClean: a job ends, and all of its pods must be deleted.
func endsClean(t *testing.T, r *rig, ns string) {
	r.store(t, ns, jobOf(r.kind, map[string]any{"cleanPodPolicy": "All"}, "1s"))
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
	r.store(t, ns, jobOf(r.kind, map[string]any{"ttlSecondsAfterFinished": 60}, ""))
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
	_, groups := nativeKinds()
	manifests := map[string]string{
		"pods":                                 `{apiVersion: v1, kind: Pod, metadata: {name: job-worker-0}, spec: {containers: [{name: a, image: "a:1"}]}}`,
		"services":                             `{apiVersion: v1, kind: Service, metadata: {name: job-worker-0}, spec: {clusterIP: None}}`,
		"secrets":                              `{apiVersion: v1, kind: Secret, metadata: {name: job-ssh}}`,
		"jobs.batch":                           `{apiVersion: batch/v1, kind: Job, metadata: {name: job-launcher}, spec: {template: {spec: {restartPolicy: Never, containers: [{name: a, image: "a:1"}]}}}}`,
		"podgroups.scheduling.volcano.sh":      `{apiVersion: scheduling.volcano.sh/v1beta1, kind: PodGroup, metadata: {name: job}, spec: {minMember: 9}}`,
		"podgroups.scheduling.x-k8s.io":        `{apiVersion: scheduling.x-k8s.io/v1alpha1, kind: PodGroup, metadata: {name: job}, spec: {minMember: 9}}`,
		"podgroups.scheduling.k8s.io":          `{apiVersion: scheduling.k8s.io/` + groups.Version + `, kind: PodGroup, metadata: {name: job}, spec: {schedulingPolicy: {basic: {}}}}`,
		"workloads.scheduling.k8s.io":          `{apiVersion: scheduling.k8s.io/` + groups.Version + `, kind: Workload, metadata: {name: job}, spec: {podGroupTemplates: [{name: pods, schedulingPolicy: {basic: {}}}]}}`,
		"horizontalpodautoscalers.autoscaling": `{apiVersion: autoscaling/v2, kind: HorizontalPodAutoscaler, metadata: {name: job}, spec: {maxReplicas: 9, scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: mine}}}`,
	}
	return func(t *testing.T, r *rig, ns string) { r.store(t, ns, manifests[resource]) }
}

func conflicts(t *testing.T, r *rig, ns string) {
	r.awaitReason(t, ns, jobName, training.ReasonNameConflict)
}

// upkeep is what happens to the object that a job has beside its pods.
type upkeep struct {
	begins, there, changes, changed step
	reasons                         training.DependentReasons
}

// groupUpkeep: a group has as many members as its job has workers.
func groupUpkeep(of schema.Resource, reasons training.DependentReasons) upkeep {
	return upkeep{reasons: reasons, begins: begins,
		there: func(t *testing.T, r *rig, ns string) { r.awaitDependent(t, of, ns, jobName, true) },
		changes: func(t *testing.T, r *rig, ns string) {
			r.edit(t, ns, `{"spec":{"tfReplicaSpecs":{"Worker":{"replicas":2}}}}`)
		},
		changed: func(t *testing.T, r *rig, ns string) {
			if training.IsNative(of) { // not changed: the API server rejects the patch, which needs the right, too
				r.awaitReason(t, ns, jobName, reasons.UpdateFailed)
				return
			}
			r.awaitSpec(t, of, ns, `"minMember":2`)
		}}
}

func autoscalerUpkeep() upkeep {
	of := training.Autoscalers()
	return upkeep{reasons: training.DependentReasonsOf(of),
		begins:  func(t *testing.T, r *rig, ns string) { r.store(t, ns, elastic(jobName, averageOf500m, "")) },
		there:   func(t *testing.T, r *rig, ns string) { r.awaitDependent(t, of, ns, jobName, true) },
		changes: func(t *testing.T, r *rig, ns string) { r.edit(t, ns, `{"spec":{"elasticPolicy":{"maxReplicas":5}}}`) },
		changed: func(t *testing.T, r *rig, ns string) { r.awaitSpec(t, of, ns, `"maxReplicas":5`) }}
}

func (r *rig) awaitSpec(t *testing.T, of schema.Resource, ns, has string) {
	t.Helper()
	await(t, has, func() (bool, string) {
		u, err := r.client(of, ns).Get(t.Context(), jobName, metav1.GetOptions{})
		if err != nil {
			return false, err.Error()
		}
		spec, _ := json.Marshal(u.Object["spec"])
		return strings.Contains(string(spec), has), string(spec)
	})
}

// owned: an earlier operator has created an object of the job, without labels, or another client has removed them. With
// elsewhere, a binding has our labels and refers to another role.
func owned(of schema.Resource, name string, elsewhere bool) step {
	return func(t *testing.T, r *rig, ns string) {
		job := r.store(t, ns, jobOf(r.kind, nil, ""))
		yes := true
		owner := metav1.OwnerReference{APIVersion: job.GetAPIVersion(), Kind: job.GetKind(), Name: jobName, UID: job.GetUID(), Controller: &yes, BlockOwnerDeletion: &yes}
		object := map[string]any{"apiVersion": of.APIVersion(), "kind": of.Kind, "metadata": map[string]any{"name": name, "ownerReferences": []any{owner}}}
		if of.Kind == "Workload" {
			object["spec"] = map[string]any{"podGroupTemplates": []any{map[string]any{"name": "pods", "schedulingPolicy": map[string]any{"gang": map[string]any{"minCount": 1}}}}}
		}
		if of == training.RoleBindings() {
			object["roleRef"] = map[string]any{"apiGroup": rbacv1.GroupName, "kind": "Role", "name": name}
			if elsewhere {
				object["roleRef"] = map[string]any{"apiGroup": rbacv1.GroupName, "kind": "Role", "name": "other"}
				object["metadata"].(map[string]any)["labels"] = map[string]any{training.LabelOperator: r.kind.Controller, training.LabelJob: jobName}
			}
		}
		r.store(t, ns, string(schema.JSON(object)))
	}
}

// labelled: the object belongs to the job, and the cache has it.
func labelled(of schema.Resource, name string) step {
	return func(t *testing.T, r *rig, ns string) {
		t.Helper()
		await(t, "labels of "+name, func() (bool, string) {
			u, err := r.client(of, ns).Get(t.Context(), name, metav1.GetOptions{})
			if err != nil {
				return false, err.Error()
			}
			return u.GetLabels()[training.LabelJob] == jobName, fmt.Sprint(u.GetLabels())
		})
	}
}

func bindsOwnRole(t *testing.T, r *rig, ns string) {
	t.Helper()
	await(t, "a binding to the job's own role", func() (bool, string) {
		binding, err := r.typed.RbacV1().RoleBindings(ns).Get(t.Context(), jobName+"-launcher", metav1.GetOptions{})
		return err == nil && binding.RoleRef.Name == jobName+"-launcher", fmt.Sprint(binding, err)
	})
}

// namesWorkers: the Role of the job lets its launcher exec into the workers that run.
func namesWorkers(t *testing.T, r *rig, ns string) {
	t.Helper()
	await(t, "a Role that names the worker", func() (bool, string) {
		role, err := r.typed.RbacV1().Roles(ns).Get(t.Context(), jobName+"-launcher", metav1.GetOptions{})
		if err != nil {
			return false, err.Error()
		}
		return strings.Contains(fmt.Sprint(role.Rules), jobName+"-worker-0"), fmt.Sprint(role.Rules)
	})
}

func namesAccount(t *testing.T, r *rig, ns string) {
	r.edit(t, ns, `{"spec":{"mpiReplicaSpecs":{"Launcher":{"template":{"spec":{"serviceAccountName":"mine"}}}}}}`)
}

// launched: the Job of the launcher exists, and is not suspended.
func launched(t *testing.T, r *rig, ns string) {
	t.Helper()
	await(t, "the launcher", func() (bool, string) {
		job := r.batchJob(t, ns, jobName+"-launcher")
		return job != nil && (job.Spec.Suspend == nil || !*job.Spec.Suspend), fmt.Sprint(job)
	})
}

func launcherRests(t *testing.T, r *rig, ns string) {
	t.Helper()
	await(t, "the launcher to rest", func() (bool, string) {
		job, pods := r.batchJob(t, ns, jobName+"-launcher"), r.pods(t, ns, jobName)
		return job != nil && job.Spec.Suspend != nil && *job.Spec.Suspend && len(pods) == 0, fmt.Sprint(pods)
	})
}

// changesLauncher changes what no update of a Job may change, and resumes the launcher.
func changesLauncher(t *testing.T, r *rig, ns string) {
	r.edit(t, ns, `{"spec":{"runPolicy":{"suspend":false},"mpiReplicaSpecs":{"Launcher":{"template":{"spec":{"terminationGracePeriodSeconds":7}}}}}}`)
}

func launchedAnew(t *testing.T, r *rig, ns string) {
	t.Helper()
	await(t, "another launcher", func() (bool, string) {
		job := r.batchJob(t, ns, jobName+"-launcher")
		return job != nil && job.Spec.Template.Spec.TerminationGracePeriodSeconds != nil && *job.Spec.Template.Spec.TerminationGracePeriodSeconds == 7, fmt.Sprint(job)
	})
}

// beganBefore: Job controllers before Kubernetes 1.35 keep the start time of a suspended Job.
func beganBefore(t *testing.T, r *rig, ns string) {
	if _, err := r.typed.BatchV1().Jobs(ns).Patch(t.Context(), jobName+"-launcher", types.MergePatchType, []byte(`{"status":{"startTime":"2026-01-01T00:00:00Z"}}`),
		metav1.PatchOptions{}, "status"); err != nil {
		t.Fatal(err)
	}
}

// movesLauncher moves the launcher to other nodes, as a queue does, and resumes it.
func movesLauncher(t *testing.T, r *rig, ns string) {
	r.edit(t, ns, `{"spec":{"runPolicy":{"suspend":false},"mpiReplicaSpecs":{"Launcher":{"template":{"spec":{"nodeSelector":{"kubernetes.io/os":"linux"}}}}}}}`)
}

// nobodyReadsMetrics: with --metrics-secure, the operator cannot find out who may read the metrics.
func nobodyReadsMetrics(t *testing.T, r *rig, s shortage) {
	ns := s.name()
	p := &process{operator.InTest(t, operator.Options{Command: operator.Stoic(build(t, ".", r.flags...)), Kubeconfig: r.cluster.UserKubeconfig(ns),
		Namespace: ns, Flags: s.flags})}
	account := metav1.ObjectMeta{Name: "prometheus"}
	r.store(t, ns, `{apiVersion: v1, kind: ServiceAccount, metadata: {name: prometheus}}`)
	hour := int64(3600)
	token, err := r.typed.CoreV1().ServiceAccounts(ns).CreateToken(t.Context(), account.Name,
		&authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{ExpirationSeconds: &hour}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	reader := metav1.ObjectMeta{Name: "reader-" + ns}
	if _, err := r.typed.RbacV1().ClusterRoles().Create(t.Context(), &rbacv1.ClusterRole{ObjectMeta: reader,
		Rules: []rbacv1.PolicyRule{{NonResourceURLs: []string{"/metrics"}, Verbs: []string{"get"}}}}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, err := r.typed.RbacV1().ClusterRoleBindings().Create(t.Context(), &rbacv1.ClusterRoleBinding{ObjectMeta: reader,
		RoleRef:  rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: reader.Name},
		Subjects: []rbacv1.Subject{{Kind: "ServiceAccount", Name: account.Name, Namespace: ns}}}, metav1.CreateOptions{}); err != nil && !apierrors.IsAlreadyExists(err) {
		t.Fatal(err)
	}
	// The certificate is self-signed, and this test knows the server.
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true, TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}, Timeout: 2 * time.Minute}
	get := func() (int, string) {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "https://"+p.MetricsAddress()+"/metrics", http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		request.Header.Set("Authorization", "Bearer "+token.Status.Token)
		answer, err := client.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		defer answer.Body.Close()
		body, err := io.ReadAll(answer.Body)
		if err != nil {
			t.Fatal(err)
		}
		return answer.StatusCode, string(body)
	}
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
