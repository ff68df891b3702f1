package integration

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"stoic/cli/cluster"
	"stoic/test/operator"
	"stoic/training"
	"stoic/training/kinds"
)

// TestWaysToInstall: each overlay and the chart, on a cluster without anything of ours. Operators run with the installed command
// lines and service accounts, and need no permission beyond theirs. Pods must be restricted ones.
func TestWaysToInstall(t *testing.T) {
	full(t)
	t.Parallel() // it mostly waits
	r := bareRig(t, cluster.Options{Users: map[string]string{
		"chart": serviceAccount("training"), "overlay": serviceAccount("team-a"), "stranger": "stranger"}})
	r.kubectl(t, nil, "apply", "-f", "testdata/kinds-of-others.yaml")
	r.kubectl(t, nil, "wait", "--for=create", "--timeout=3m", "crd/issuers.cert-manager.io")
	r.kubectl(t, nil, "wait", "--for=condition=Established", "--timeout=3m", "-f", "testdata/kinds-of-others.yaml")
	for _, ns := range []string{"kubeflow", "training", "team-a"} {
		r.kubectl(t, nil, "label", "namespace", r.namespace(t, ns), "pod-security.kubernetes.io/enforce=restricted")
	}
	r.namespace(t, "jobs")
	h := newHelm(t, r)
	for _, step := range []struct {
		name string
		run  func(*testing.T, *rig, helm)
	}{ // one after the other: they install the same CRDs
		{"chart", chartInstalls},
		{"overlays", func(t *testing.T, r *rig, _ helm) { overlaysApply(t, r) }},
		{"namespaced", func(t *testing.T, r *rig, _ helm) { namespacedServes(t, r) }},
	} {
		if !t.Run(step.name, func(t *testing.T) { step.run(t, r, h) }) {
			return
		}
	}
}

func serviceAccount(ns string) string { return "system:serviceaccount:" + ns + ":training-operator" }

// helm is the program, of the module tools.
type helm struct{ file, kubeconfig, dir string }

func newHelm(t *testing.T, r *rig) helm {
	t.Helper()
	programs := operator.Programs{Root: filepath.Join(root, "tools"), Dir: t.TempDir()}
	file, err := programs.Build(t.Context(), "helm.sh/helm/v4/cmd/helm")
	if err != nil {
		t.Fatal(err)
	}
	return helm{file: file, kubeconfig: r.cluster.Kubeconfig(), dir: t.TempDir()}
}

// run runs helm with its own files; nothing of the user's is read.
func (h helm) run(t *testing.T, args ...string) string {
	t.Helper()
	out, err := h.try(t, args...)
	if err != nil {
		t.Fatalf("helm %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return out
}

func (h helm) try(t *testing.T, args ...string) (string, error) {
	t.Helper()
	command := exec.CommandContext(t.Context(), h.file, args...)
	command.Env = h.environment()
	out, err := command.CombinedOutput()
	return string(out), err
}

func (h helm) environment() []string {
	return append(os.Environ(), "KUBECONFIG="+h.kubeconfig, "HELM_DRIVER=secret",
		"HELM_CACHE_HOME="+h.dir, "HELM_CONFIG_HOME="+h.dir, "HELM_DATA_HOME="+h.dir)
}

// chartInstalls: a release is installed, upgraded to one namespace, then to one kind, serves a job there, is rolled back and
// uninstalled; the CRDs and the job stay.
func chartInstalls(t *testing.T, r *rig, h helm) {
	chart := filepath.Join(root, "deploy/chart")
	if out := h.run(t, "lint", "--strict", chart); !strings.Contains(out, "0 chart(s) failed") {
		t.Errorf("helm lint says %s", out)
	}
	h.run(t, "install", "stoic", chart, "-n", "training", "--wait", "--timeout=3m")
	for _, kind := range kinds.All() {
		r.awaitEstablished(t, kind)
	}
	r.kubectl(t, []byte(h.run(t, "get", "manifest", "stoic", "-n", "training")), "get", "-f", "-")
	if bound := r.names(t, "clusterrolebindings"); !strings.Contains(bound, "/training-operator\n") {
		t.Errorf("cluster role bindings:\n%s", bound)
	}

	namespaced := []string{"upgrade", "stoic", chart, "-n", "training", "--wait", "--timeout=3m", "--set=replicas=2", "--set=podDisruptionBudget.enabled=true",
		"--set=networkPolicy.enabled=true", "--set=watchNamespace=jobs"}
	h.run(t, namespaced...)
	if bound := r.names(t, "clusterrolebindings"); strings.Contains(bound, "/training-operator") {
		t.Errorf("an operator of one namespace has cluster role bindings:\n%s", bound)
	}
	h.run(t, append(namespaced, "--set=kinds={TFJob}")...)
	if out, err := h.try(t, "install", "second", chart, "-n", "training", "--set=name=second"); err == nil || !strings.Contains(out, "has a training operator already, the Deployment training-operator") {
		t.Errorf("a second operator in the namespace: %v\n%s", err, out)
	}
	p := r.deployed(t, "chart", "training")
	r.apply(t, "jobs", manifest("mnist", worker("", "")))
	r.awaitState(t, "jobs", "mnist", training.Succeeded)
	r.isPermitted(t, serviceAccount("training"))
	p.stop(t)

	h.run(t, "rollback", "stoic", "1", "-n", "training", "--wait", "--timeout=3m")
	if bound := r.names(t, "clusterrolebindings"); !strings.Contains(bound, "/training-operator\n") {
		t.Errorf("cluster role bindings after the rollback:\n%s", bound)
	}
	if got := r.kubectl(t, nil, "get", "deployment", "training-operator", "-n", "training", "-o", "jsonpath={.spec.replicas}"); got != "1" {
		t.Errorf("%s replicas after the rollback", got)
	}

	// Without --wait: the role aggregation of Kubernetes sometimes recreates kubeflow-training-admin when it is deleted.
	h.run(t, "uninstall", "stoic", "-n", "training")
	await(t, "what the release had installed to be gone", func() (bool, string) {
		left := r.names(t, "deployments,services,serviceaccounts,roles,rolebindings,clusterroles,clusterrolebindings", "-n", "training")
		return !strings.Contains(left, "training-operator"), left
	})
	if jobs := r.names(t, "tfjobs", "-n", "jobs"); jobs != "tfjob.kubeflow.org/mnist\n" {
		t.Errorf("after helm uninstall there are the jobs %q", jobs)
	}
}

// names returns those of objects, one in a line.
func (r *rig) names(t *testing.T, args ...string) string {
	t.Helper()
	return r.kubectl(t, nil, append([]string{"get", "-o", "name"}, args...)...)
}

// overlaysApply: the API server accepts each object of each overlay.
func overlaysApply(t *testing.T, r *rig) {
	dirs, err := filepath.Glob(filepath.Join(root, "deploy/overlays/*"))
	if err != nil || len(dirs) != 6 {
		t.Fatal(dirs, err)
	}
	for _, dir := range dirs { // those of manifests/ render the same: TestPathsOfTrainingOperator
		rendered := r.kubectl(t, nil, "kustomize", dir)
		if filepath.Base(dir) != "kubeflow" { // the CRDs, which are long, are the same in all, but for labels in one
			rendered = withoutCRDs(rendered)
		}
		out := r.kubectl(t, []byte(rendered), "apply", "--server-side", "--force-conflicts", "--dry-run=server", "-f", "-")
		checkEach(t, dir, out, "(server dry run)", strings.Count("\n"+rendered, "\napiVersion: "))
	}
}

func withoutCRDs(rendered string) string {
	return strings.Join(slices.DeleteFunc(strings.Split(rendered, "\n---\n"), func(document string) bool {
		return strings.Contains(document, "\nkind: CustomResourceDefinition\n")
	}), "\n---\n")
}

// namespacedServes: an operator of one namespace that an overlay installs runs jobs there, including those of the kind that needs
// most permissions, and has no rights elsewhere.
func namespacedServes(t *testing.T, r *rig) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	overlay, err := filepath.Abs(filepath.Join(root, "deploy/overlays/namespaced"))
	if err != nil {
		t.Fatal(err)
	}
	if overlay, err = filepath.Rel(dir, overlay); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "kustomization.yaml"), fmt.Appendf(nil, "namespace: team-a\nresources: [%s]\n", overlay), 0o600); err != nil {
		t.Fatal(err)
	}
	r.kubectl(t, nil, "apply", "-k", dir)
	r.kubectl(t, nil, "rollout", "status", "deployment/training-operator", "-n", "team-a", "--timeout=3m")
	r.kubectl(t, nil, "label", "namespace", "team-a", "pod-security.kubernetes.io/enforce-") // the jobs of tests are not restricted
	p := r.deployed(t, "overlay", "team-a")
	r.apply(t, "team-a", manifest("mnist", worker("", "")))
	r.apply(t, "team-a", mpiManifest("pi", "", 1, "1s"))
	r.awaitState(t, "team-a", "mnist", training.Succeeded)
	r.of(kinds.MPIJob()).awaitState(t, "team-a", "pi", training.Succeeded)
	r.isPermitted(t, serviceAccount("team-a"))
	for _, ns := range []string{"default", "kubeflow"} {
		if out, err := r.tryKubectl(nil, "auth", "can-i", "list", "pods", "-n", ns, "--as="+serviceAccount("team-a")); err == nil || out != "no\n" {
			t.Errorf("pods of %s can be listed: %s", ns, out)
		}
	}
	p.stop(t)
}

// deployed runs the operator with the command line of the Deployment in a namespace, as a user in place of its service account.
func (r *rig) deployed(t *testing.T, user, ns string) *process {
	t.Helper()
	var args []string
	out := r.kubectl(t, nil, "get", "deployment", "training-operator", "-n", ns, "-o", "jsonpath={.spec.template.spec.containers[0].args}")
	if err := json.Unmarshal([]byte(out), &args); err != nil {
		t.Fatalf("read the arguments %q: %v", out, err)
	}
	command := []string{"env", "MY_POD_NAMESPACE=" + ns, "MY_POD_NAME=" + user, build(t, ".", r.flags...)}
	for _, arg := range args {
		command = append(command, strings.ReplaceAll(arg, "$(MY_POD_NAMESPACE)", ns)) // as the kubelet does
	}
	command = append(command, "--kubeconfig={kubeconfig}", "--metrics-bind-address={metrics}", "--health-probe-bind-address={probes}")
	return &process{operator.InTest(t, operator.Options{Command: command, Kubeconfig: r.cluster.UserKubeconfig(user)})}
}

// isPermitted: a user has created pods, and no request was forbidden.
func (r *rig) isPermitted(t *testing.T, user string) {
	t.Helper()
	all := r.requestsOf(t, user)
	createsPods := func(q audited) bool { return q.Verb == "create" && strings.Contains(q.RequestURI, "/pods") }
	if !slices.ContainsFunc(all, createsPods) {
		t.Errorf("none of the %d requests of %s has created a pod", len(all), user)
	}
	for _, q := range all {
		if q.ResponseStatus.Code == 403 {
			t.Errorf("forbidden to %s: %s %s", user, q.Verb, q.RequestURI)
		}
	}
}
