package integration

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"stoic/cli/cluster"
)

// TestMigration runs the commands of docs/migration.md unchanged while jobs of all kinds run: there and back. Pods of Deployments are
// simulated here; beside our Deployment, our operator runs as a process, with the permissions that the commands have installed.
func TestMigration(t *testing.T) {
	full(t)
	t.Parallel() // it mostly waits
	all := slices.DeleteFunc(predecessors(), func(p predecessor) bool { return p.kind.Version != "v1" })
	r := bareRig(t, cluster.Options{})
	m := &migration{rig: r, sections: commandsOf(t, "docs/migration.md"), old: predecessorManifests(t, all)}
	m.run(t, `kubectl apply --server-side -k "$OLD"`) // as in its own instructions
	left := map[string]map[string]leftJob{}
	r.kubectl(t, nil, "delete", "validatingwebhookconfiguration", webhook) // it would reject the jobs, having no server
	for _, p := range all {
		left[p.kind.Name] = p.leave(t, r.of(p.kind))
	}
	for _, p := range all {
		p.settle(t, r.of(p.kind), left[p.kind.Name])
	}
	m.run(t, `kubectl apply --server-side -k "$OLD"`)
	m.run(t, `kubectl rollout status deployment -n kubeflow training-operator --timeout=3m`)
	before := m.allPods(t, all)
	m.refusesJobs(t, true)

	m.section(t, "1. Look first")
	m.section(t, "2. End the old operator")
	if out := m.operatorPods(t); out != "" {
		t.Errorf("the old operator still runs: %s", out)
	}
	m.section(t, "3. Start this one")
	p := r.operator(t, "")
	m.taken(t)
	m.section(t, "4. Look again")
	for _, one := range all {
		one.store(t, r.of(one.kind), "later", false)
		r.of(one.kind).awaitState(t, one.space(), "later", "Running") // so what existed before has been reconciled
		onlyGeneration(t, left[one.kind.Name]["running"].job, r.of(one.kind).raw(t, one.space(), "running"))
	}
	m.kept(t, all, before)
	nothingIsForbidden(t, r)

	before = m.allPods(t, all)
	p.stop(t)
	m.section(t, "The way back")
	m.back(t)
	m.kept(t, all, before)
	m.section(t, "Webhooks that were left behind")
	m.refusesJobs(t, false)
}

// onlyGeneration: our CRDs let the operator record which generation a status is of, which it does at the second reconcile of a
// job, as for an MPIJob. A running job of a kind without a scale in 1.9 gets the selectors that its scale needs. Nothing else is written.
func onlyGeneration(t *testing.T, before, after *unstructured.Unstructured) {
	t.Helper()
	was, is := before.DeepCopy(), after.DeepCopy()
	if n, found, err := unstructured.NestedInt64(is.Object, "status", "observedGeneration"); found && n != is.GetGeneration() || err != nil {
		t.Errorf("%s: observedGeneration is %d, want %d", after.GetName(), n, is.GetGeneration())
	}
	unstructured.RemoveNestedField(is.Object, "status", "observedGeneration")
	for _, u := range []*unstructured.Unstructured{was, is} {
		counts, _, _ := unstructured.NestedMap(u.Object, "status", "replicaStatuses")
		for rtype := range counts {
			unstructured.RemoveNestedField(u.Object, "status", "replicaStatuses", rtype, "selector")
		}
		u.SetResourceVersion("")
		u.SetManagedFields(nil)
	}
	if diff := cmp.Diff(was.Object, is.Object); diff != "" {
		t.Errorf("%s was written to (-before +after):\n%s", after.GetName(), diff)
	}
}

const webhook = "validator.training-operator.kubeflow.org"

type migration struct {
	*rig
	sections map[string]string // commands by heading
	old      string            // the folder that OLD names
}

// predecessorManifests writes the start of a take-over: the CRDs of v1.9.4, and the rest of its installation.
func predecessorManifests(t *testing.T, all []predecessor) string {
	t.Helper()
	folder := t.TempDir()
	files := map[string]string{"predecessor.yaml": "testdata/predecessor.yaml", "webhooks.yaml": "testdata/webhooks.yaml"}
	for _, p := range all {
		files[p.crd] = filepath.Join(root, "test/fixtures", p.crd)
	}
	kustomization := "resources: [" + strings.Join(slices.Sorted(maps.Keys(files)), ", ") + "]\n"
	for name, from := range files {
		text, err := os.ReadFile(from)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(folder, name), text, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(folder, "kustomization.yaml"), []byte(kustomization), 0o644); err != nil {
		t.Fatal(err)
	}
	return folder
}

// section runs the commands under a heading.
func (m *migration) section(t *testing.T, heading string) {
	t.Helper()
	m.run(t, m.sections[heading])
}

func (m *migration) run(t *testing.T, commands string) {
	t.Helper()
	m.shell(t, root, commands, nil, "OLD="+m.old)
}

// refusesJobs: a webhook without a server rejects requests about its objects; after its deletion none is rejected.
func (r *rig) refusesJobs(t *testing.T, want bool) {
	t.Helper()
	await(t, "the webhook to be in force", func() (bool, string) {
		out, err := r.tryKubectl([]byte(manifest("probe", worker("", ""))), "create", "--dry-run=server", "-f", "-")
		return (err != nil && strings.Contains(out, "failed calling webhook")) == want, out
	})
}

func (m *migration) operatorPods(t *testing.T) string {
	t.Helper()
	return m.kubectl(t, nil, "get", "pods", "-n", "kubeflow", "-l", "control-plane=kubeflow-training-operator",
		"-o", "jsonpath={range .items[*]}{.spec.containers[0].image} {.spec.volumes[*].name}{end}")
}

// taken: the running operator is ours, and nothing of the old one is left in it.
func (m *migration) taken(t *testing.T) {
	t.Helper()
	if got := m.operatorPods(t); got != "stoic:dev config" {
		t.Errorf("pods of the operator: %q", got)
	}
	m.refusesJobs(t, false)
	for what, want := range map[string]string{
		"get service -n kubeflow training-operator -o jsonpath={.spec.ports[*].port}":                          "8080",
		"get secret -n kubeflow --field-selector type!=helm.sh/release.v1 -o name":                             "",
		"get validatingwebhookconfiguration -o name":                                                           "",
		"get deployment -n kubeflow training-operator -o jsonpath={.spec.template.spec.containers[*].command}": `["/stoic"]`,
	} {
		if got := m.kubectl(t, nil, strings.Fields(what)...); got != want {
			t.Errorf("kubectl %s: %q, want %q", what, got, want)
		}
	}
	if out, err := m.tryKubectl(nil, "auth", "can-i", "list", "secrets", "--as=system:serviceaccount:kubeflow:training-operator", "-A"); err == nil {
		t.Errorf("it may still read secrets: %s", out)
	}
}

// back: the running operator is the old one, with its configuration.
func (m *migration) back(t *testing.T) {
	t.Helper()
	if got := m.operatorPods(t); got != "example.org/predecessor:v1.9.4 cert" {
		t.Errorf("pods of the operator: %q", got)
	}
	m.refusesJobs(t, true) // its webhook exists again; its server is simulated and does not answer
	if got := m.kubectl(t, nil, "get", "service", "-n", "kubeflow", "training-operator", "-o", "jsonpath={.spec.ports[*].port}"); got != "8080 443" {
		t.Errorf("ports of the service: %s", got)
	}
	if out, err := m.tryKubectl(nil, "auth", "can-i", "list", "secrets", "--as=system:serviceaccount:kubeflow:training-operator", "-A"); err != nil {
		t.Errorf("it may not read secrets: %s", out)
	}
	if got := m.kubectl(t, nil, "get", "clusterrole,clusterrolebinding,role,rolebinding", "-n", "kubeflow", "-o", "name"); strings.Contains(got, "training-operator-") {
		t.Errorf("permissions of ours are left:\n%s", got)
	}
}

// allPods returns the pods of the jobs that were left, by kind: their UIDs and how often their containers have restarted.
func (m *migration) allPods(t *testing.T, all []predecessor) map[string]string {
	t.Helper()
	found := map[string]string{}
	for _, p := range all {
		for name, uid := range m.of(p.kind).podsIn(t, p.space()) {
			found[p.space()+"/"+name] = uid
		}
	}
	if len(found) < 20 {
		t.Fatalf("there are %d pods", len(found))
	}
	return found
}

func (r *rig) podsIn(t *testing.T, ns string) map[string]string {
	t.Helper()
	found := map[string]string{}
	for _, pod := range r.podsWith(t, ns, "") {
		restarts := 0
		for _, c := range pod.Status.ContainerStatuses {
			restarts += int(c.RestartCount)
		}
		found[pod.Name] = string(pod.UID) + " restarts " + strings.Repeat("i", restarts)
	}
	return found
}

// kept: each former pod still exists, and has not restarted.
func (m *migration) kept(t *testing.T, all []predecessor, before map[string]string) {
	t.Helper()
	now := m.allPods(t, all)
	maps.DeleteFunc(now, func(name, _ string) bool { return before[name] == "" }) // new ones
	if diff := cmp.Diff(before, now); diff != "" {
		t.Errorf("pods (-before +after):\n%s", diff)
	}
}
