package integration

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"stoic/cli/cluster"
	"stoic/test/operator"
)

// asShipped starts a program with the arguments of a Deployment: with these it takes the lease that its role names.
func (r *rig) asShipped(t *testing.T, program, kubeconfig, file, deployment string, more ...string) *process {
	t.Helper()
	var found *appsv1.Deployment
	eachDocument(t, file, func(_ string, document []byte) error {
		d := new(appsv1.Deployment)
		err := yaml.UnmarshalStrict(document, d)
		if d.Name == deployment {
			found = d
		}
		return err
	})
	if found == nil {
		t.Fatalf("%s has no Deployment %s", file, deployment)
	}
	command := append([]string{program, "--kubeconfig", "{kubeconfig}", "--metrics-bind-address", "{metrics}", "--health-probe-bind-address", "{probes}",
		"--leader-election-namespace", found.Namespace}, found.Spec.Template.Spec.Containers[0].Args...) // from the environment in a pod
	return &process{operator.InTest(t, operator.Options{Command: append(command, "{flags}"), Kubeconfig: r.cluster.UserKubeconfig(kubeconfig), Flags: more})}
}

// TestExamplesInstalled follows the READMEs of the example operators, in restricted namespaces, and then checks the rights of users.
func TestExamplesInstalled(t *testing.T) {
	t.Parallel() // it mostly waits
	r := bareRig(t, cluster.Options{Nodes: 1})
	folder := filepath.Join(root, "examples/operators")
	for ns, of := range map[string]string{"test-operators": "foobar", "crontab-operators": "crontab", "mydeployment-system": "mydeployment"} {
		r.kubectl(t, nil, "apply", "-f", filepath.Join(folder, of, "deploy/namespace.yaml"))
		r.kubectl(t, nil, "label", "namespace", ns, "pod-security.kubernetes.io/enforce=restricted", "pod-security.kubernetes.io/warn=restricted")
	}
	for _, dir := range []string{"foobar/deploy", "foobarset/deploy", "foobarset/deploy/apart", "crontab/deploy", "mydeployment/deploy", "foo/deploy"} {
		r.applyFolder(t, filepath.Join(folder, dir))
	}
	for _, of := range []string{"foobar", "crontab"} {
		withVersions := operator.Overlay(t, filepath.Join(folder, of, "deploy"), "resources: [$]\ncomponents: [$/versions]\n")
		r.applyFolder(t, withVersions, "--dry-run=server")
	}
	t.Run("Deployments", func(t *testing.T) { exampleDeployments(t, r) })
	t.Run("users", func(t *testing.T) { exampleUsers(t, r) })
}

// applyFolder applies a folder with a kustomization. There must be no warning, such as one about a pod that a restricted
// namespace would reject.
func (r *rig) applyFolder(t *testing.T, dir string, flags ...string) {
	t.Helper()
	out := r.kubectl(t, nil, append([]string{"apply", "-k", dir}, flags...)...)
	if strings.Contains(out, "Warning") || !strings.Contains(out, "deployment.apps/") {
		t.Errorf("kubectl apply -k %s %v says\n%s", dir, flags, out)
	}
}

// exampleDeployments: all Deployments have pods, and roles are bound to their service accounts.
func exampleDeployments(t *testing.T, r *rig) {
	const want = 7
	await(t, "all Deployments to be available", func() (bool, string) {
		list, err := r.typed.AppsV1().Deployments("").List(context.Background(), metav1.ListOptions{})
		if err != nil {
			t.Fatal(err)
		}
		available, saw := 0, ""
		for _, d := range list.Items {
			available += int(d.Status.AvailableReplicas)
			saw += fmt.Sprintln(d.Name, d.Status.AvailableReplicas, d.Status.Conditions)
		}
		return len(list.Items) == want && available == want, saw
	})
	list, err := r.typed.AppsV1().Deployments("").List(context.Background(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range list.Items {
		user := "system:serviceaccount:" + d.Namespace + ":" + d.Spec.Template.Spec.ServiceAccountName
		for _, one := range []right{{"create", "coordination.k8s.io", "leases"}, {"create", "", "events"}} {
			if !r.mayIn(t, user, d.Namespace, one) {
				t.Errorf("%s of the Deployment %s may not %s", user, d.Name, one)
			}
		}
	}
}

// exampleUsers: users of Kubernetes' own roles have the corresponding rights to the resources of the examples. The exceptions are
// FooBarTasks, which are internal, and writing FooBars, which reach into other namespaces: that needs the role foobar-edit.
func exampleUsers(t *testing.T, r *rig) {
	ns := r.namespace(t, "users")
	for user, role := range map[string]string{"alice": "admin", "eve": "edit", "victor": "view", "frank": "foobar-edit"} {
		r.kubectl(t, nil, "-n", ns, "create", "rolebinding", user, "--clusterrole="+role, "--user="+user)
	}
	type ask struct {
		user string
		right
		want bool
	}
	var asks []ask
	reads, writes := []string{"get", "list", "watch"}, []string{"create", "update", "patch", "delete", "deletecollection"}
	for resource, who := range map[string]struct{ writers, readers string }{
		"foobarsets.test.example.com":          {"alice eve", "alice eve victor"},
		"foobarsets/scale.test.example.com":    {"alice eve", "alice eve"},
		"foobarsets/status.test.example.com":   {"", "alice eve victor"},
		"foobartasks.test.example.com":         {"", ""},
		"foobartasks/status.test.example.com":  {"", ""},
		"foobars.test.example.com":             {"frank", "alice eve victor frank"},
		"foobars/status.test.example.com":      {"", "alice eve victor frank"},
		"crontabs.stable.example.com":          {"alice eve", "alice eve victor"},
		"crontabs/scale.stable.example.com":    {"alice eve", "alice eve"},
		"mydeployments.apps.example.com":       {"alice eve", "alice eve victor"},
		"mydeployments/scale.apps.example.com": {"alice eve", "alice eve"},
		"foos.samplecontroller.k8s.io":         {"alice eve", "alice eve victor"},
	} {
		plural, group, _ := strings.Cut(resource, ".")
		readVerbs, writeVerbs := reads, writes
		if strings.Contains(plural, "/") {
			readVerbs, writeVerbs = []string{"get"}, []string{"update", "patch"}
		}
		for _, user := range []string{"alice", "eve", "victor", "frank"} {
			for _, verb := range readVerbs {
				asks = append(asks, ask{user, right{verb, group, plural}, strings.Contains(who.readers, user)})
			}
			for _, verb := range writeVerbs {
				asks = append(asks, ask{user, right{verb, group, plural}, strings.Contains(who.writers, user)})
			}
		}
	}
	for _, a := range asks {
		if a.want { // roles are aggregated after a moment
			await(t, a.user+" to have the right to "+a.String(), func() (bool, string) { return r.mayIn(t, a.user, ns, a.right), "no" })
		}
	}
	for _, a := range asks {
		if !a.want && r.mayIn(t, a.user, ns, a.right) {
			t.Errorf("%s has the right to %s", a.user, a.right)
		}
	}
}
