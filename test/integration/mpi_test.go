package integration

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"stoic/schema"
	"stoic/training"
	"stoic/training/kinds"
)

// TestMPIJob: the differences of a kind with a launcher, under the shipped permissions.
func TestMPIJob(t *testing.T) {
	quick(t)
	t.Parallel() // it mostly waits
	sideBySide(t, shared(t).of(kinds.MPIJob()), map[string]func(*testing.T, *rig){
		"happy path":             mpiHappyPath,
		"somebody else's worker": mpiForeignWorker,
		"somebody else's Role":   mpiForeignRole,
	})
	sideBySide(t, withOperator(t).of(kinds.MPIJob()), map[string]func(*testing.T, *rig){
		"an author's service account": mpiOwnAccount,
		"a Role that is refused":      mpiRefusedRole,
		"suspended, resumed":          mpiSuspended,
	})
}

func mpiManifest(name, more string, workers int, after string) string {
	return fmt.Sprintf(`apiVersion: kubeflow.org/v1
kind: MPIJob
metadata: {name: %s}
spec:
  slotsPerWorker: 2%s
  mpiReplicaSpecs:
    Launcher:
      template:
        metadata: {annotations: %s}
        spec:
          containers: [{name: mpi, image: "mpi:1", command: [mpirun]}]
    Worker:
      replicas: %d
      restartPolicy: OnFailure
      template:
        spec:
          containers: [{name: mpi, image: "mpi:1"}]
`, name, more, ends(after), workers)
}

func (r *rig) hosts(t *testing.T, ns, job string) string {
	t.Helper()
	files, err := r.typed.CoreV1().ConfigMaps(ns).Get(context.Background(), job+"-config", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return files.Data["hostfile"] + files.Data["discover_hosts.sh"]
}

func mpiHappyPath(t *testing.T, r *rig) {
	ns := r.namespace(t, "mpi-happy")
	p := r.operator(t, ns, "--mpi-kubectl-delivery-image", "kubectl:7")
	r.apply(t, ns, mpiManifest("pi", "\n  cleanPodPolicy: Running", 2, "4s"))
	r.awaitState(t, ns, "pi", training.Running)
	if got, want := r.hosts(t, ns, "pi"), "pi-worker-0 slots=2\npi-worker-1 slots=2\n#!/bin/sh\necho pi-worker-0:2\necho pi-worker-1:2"; got != want {
		t.Errorf("the launcher began with these hosts: %q, want %q", got, want)
	}
	launcher, err := r.typed.CoreV1().Pods(ns).Get(context.Background(), "pi-launcher", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if launcher.Spec.ServiceAccountName != "pi-launcher" || launcher.Spec.InitContainers[0].Image != "kubectl:7" || launcher.Labels[training.LabelJobRole] != "master" {
		t.Errorf("the launcher: %+v", launcher.Spec)
	}
	// The API server confirms what the launcher may reach: its own workers, and nothing else.
	for pod, want := range map[string]string{"pi-worker-0": "yes", "pi-worker-1": "yes", "pi-worker-2": "no", "pi-launcher": "no", "other-worker-0": "no"} {
		r.enters(t, ns, pod, want)
	}
	head := r.awaitState(t, ns, "pi", training.Succeeded)
	if got, want := describe(&head.Status), "Created=True(MPIJobCreated) Running=False(MPIJobRunning) Succeeded=True(MPIJobSucceeded)"; got != want {
		t.Errorf("conditions at the end: %s, want %s", got, want)
	}
	if got := head.Status.ReplicaStatuses["Launcher"]; got.Succeeded != 1 || got.Active != 0 {
		t.Errorf("the launcher counts as %+v", got)
	}
	await(t, "the workers, which would sleep on, to be deleted", func() (bool, string) {
		pods := r.pods(t, ns, "pi")
		return len(pods) == 1 && pods["pi-launcher"] != "", fmt.Sprint(pods)
	})
	if got, _ := p.metric(t, "training_operator_jobs_successful_total", `framework="mpi"`, `job_namespace="mpi-happy"`); got != 1 {
		t.Errorf("training_operator_jobs_successful_total is %v, want 1", got)
	}
	for _, resource := range []string{"configmaps", "serviceaccounts", "roles", "rolebindings"} {
		if n := r.written(t, ns, "create", resource); n != 1 {
			t.Errorf("%d requests to create %s", n, resource)
		}
	}
	for resource, most := range map[string]int{"configmaps": 0, "serviceaccounts": 0, "roles": 0, "rolebindings": 0, "services": 0} {
		if n := r.written(t, ns, "patch", resource); n > most {
			t.Errorf("%d requests to change %s", n, resource)
		}
	}
}

// mpiOwnAccount: an existing service account is not touched, and gets the Role; a missing one is created.
func mpiOwnAccount(t *testing.T, r *rig) {
	ns := r.namespace(t, "mpi-accounts")
	r.serve(t, ns)
	r.kubectl(t, nil, "-n", ns, "create", "serviceaccount", "mine")
	before := r.object(t, ns, "serviceaccounts", "mine")
	for job, account := range map[string]string{"a": "mine", "b": "missing"} {
		r.apply(t, ns, strings.Replace(mpiManifest(job, "", 1, "10m"), "spec:\n          containers", "spec:\n          serviceAccountName: "+account+"\n          containers", 1))
		r.awaitState(t, ns, job, training.Running)
		subject := r.kubectl(t, nil, "-n", ns, "get", "rolebinding", job+"-launcher", "-o", "jsonpath={.subjects[0].name}")
		if subject != account {
			t.Errorf("%s is bound, want %s", subject, account)
		}
		for _, e := range r.events(t, ns, job) {
			if e.Type == "Warning" {
				t.Errorf("%s: %v", job, e)
			}
		}
	}
	if after := r.object(t, ns, "serviceaccounts", "mine"); after != before {
		t.Errorf("the author's service account was touched: %s", cmp.Diff(before, after))
	}
}

// mpiForeignRole: a launcher does not get a foreign Role, and that Role is not changed.
func mpiForeignRole(t *testing.T, r *rig) {
	ns := r.namespace(t, "mpi-foreignrole")
	p := r.operator(t, ns)
	r.kubectl(t, nil, "-n", ns, "create", "role", "pi-launcher", "--verb=get", "--resource=secrets")
	before := r.object(t, ns, "roles", "pi-launcher")
	r.apply(t, ns, mpiManifest("pi", "", 1, "1s"))
	r.awaitReason(t, ns, "pi", "NameConflict")
	if pods := r.pods(t, ns, "pi"); len(pods) != 1 || pods["pi-worker-0"] == "" {
		t.Errorf("it has the pods %v, want its worker", pods)
	}
	if after := r.object(t, ns, "roles", "pi-launcher"); after != before {
		t.Errorf("the Role was touched: %s", cmp.Diff(before, after))
	}
	r.kubectl(t, nil, "-n", ns, "delete", "role", "pi-launcher", "--wait=false")
	p.stop(t) // it would retry later; a new one tries immediately
	r.operator(t, ns)
	r.awaitState(t, ns, "pi", training.Succeeded)
}

// mpiRefusedRole: the launcher does not begin before it has the right to exec into its workers. The Role of a job whose launcher
// was deleted gives it no such right, and no change of the Role is admitted.
func mpiRefusedRole(t *testing.T, r *rig) {
	ns := r.namespace(t, "mpi-refusedrole")
	r.serve(t, ns)
	r.apply(t, ns, mpiManifest("pi", "", 1, "10m"))
	r.awaitState(t, ns, "pi", training.Running)
	const policy = `apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: no-exec}
spec:
  failurePolicy: Fail
  matchConstraints: {resourceRules: [{apiGroups: [rbac.authorization.k8s.io], apiVersions: [v1], operations: [UPDATE], resources: [roles]}]}
  validations: [{expression: "!object.rules.exists(r, 'pods/exec' in r.resources)", message: nobody enters pods here}]
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: no-exec}
spec: {policyName: no-exec, validationActions: [Deny], matchResources: {namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: mpi-refusedrole}}}}
`
	r.kubectl(t, []byte(policy), "apply", "-f", "-")
	await(t, "the policy to be in force", func() (bool, string) {
		out, err := r.tryKubectl(nil, "-n", ns, "patch", "role", "pi-launcher", "--type=merge", "--dry-run=server", "-p",
			`{"rules":[{"apiGroups":[""],"resources":["pods/exec"],"resourceNames":["x"],"verbs":["create"]}]}`)
		return err != nil && strings.Contains(out, "nobody enters"), out
	})
	r.kubectl(t, nil, "-n", ns, "patch", "role", "pi-launcher", "--type=merge", "-p", `{"rules":[]}`)
	r.kubectl(t, nil, "-n", ns, "delete", "pod", "pi-launcher", "--wait=true")
	r.awaitReason(t, ns, "pi", training.ReasonUpdateDependentFailed)
	if pods := r.pods(t, ns, "pi"); pods["pi-launcher"] != "" {
		t.Errorf("the launcher has begun: %v", pods)
	}
	r.kubectl(t, nil, "delete", "validatingadmissionpolicybinding", "no-exec")
	await(t, "the launcher", func() (bool, string) {
		pods := r.pods(t, ns, "pi")
		return pods["pi-launcher"] != "", fmt.Sprint(pods)
	})
	r.enters(t, ns, "pi-worker-0", "yes")
}

// enters asks the API server whether the launcher may exec into a pod.
func (r *rig) enters(t *testing.T, ns, pod, want string) {
	t.Helper()
	out, _ := r.tryKubectl(nil, "-n", ns, "auth", "can-i", "create", "pods/"+pod, "--subresource=exec", "--as=system:serviceaccount:"+ns+":pi-launcher")
	if !strings.HasPrefix(out, want) {
		t.Errorf("may the launcher exec into %s? %s", pod, out)
	}
}

// mpiForeignWorker (W8): a user who may create an MPIJob cannot choose its name such that it can exec into a foreign pod. When
// the name is free the job runs.
func mpiForeignWorker(t *testing.T, r *rig) {
	ns := r.namespace(t, "mpi-victim")
	p := r.operator(t, ns)
	r.kubectl(t, nil, "-n", ns, "run", "pi-worker-0", "--image=theirs:1")
	r.apply(t, ns, mpiManifest("pi", "", 2, "1s"))
	r.awaitReason(t, ns, "pi", "NameConflict")
	await(t, "the other worker to run", func() (bool, string) {
		head := r.head(t, ns, "pi")
		return head.Status.ReplicaStatuses["Worker"].Active == 1, describe(&head.Status)
	})
	r.enters(t, ns, "pi-worker-0", "no")
	r.enters(t, ns, "pi-worker-1", "no") // there is no launcher yet
	r.kubectl(t, nil, "-n", ns, "delete", "pod", "pi-worker-0", "--wait=true")
	p.stop(t) // it would retry later; a new one tries immediately
	r.operator(t, ns)
	r.awaitState(t, ns, "pi", training.Succeeded)
	r.enters(t, ns, "pi-worker-0", "yes")
}

func mpiSuspended(t *testing.T, r *rig) {
	ns := r.namespace(t, "mpi-suspended")
	r.serve(t, ns)
	r.apply(t, ns, mpiManifest("pi", "\n  runPolicy: {suspend: true}", 1, "10m"))
	r.awaitState(t, ns, "pi", training.Suspended)
	r.awaitDependent(t, schema.ConfigMaps(), ns, "pi-config", false)
	r.apply(t, ns, mpiManifest("pi", "\n  runPolicy: {suspend: false}", 1, "10m"))
	r.awaitState(t, ns, "pi", training.Running)
	r.apply(t, ns, mpiManifest("pi", "\n  runPolicy: {suspend: true}", 1, "1s"))
	r.awaitState(t, ns, "pi", training.Suspended)
	await(t, "its pods to be gone", func() (bool, string) {
		pods := r.pods(t, ns, "pi")
		return len(pods) == 0, fmt.Sprint(pods)
	})
	r.apply(t, ns, mpiManifest("pi", "\n  runPolicy: {suspend: false}", 1, "1s"))
	r.awaitState(t, ns, "pi", training.Succeeded)
}
