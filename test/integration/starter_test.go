package integration

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"stoic/cli/cluster"
	"stoic/test/operator"
)

// TestStarter: operators as `stoic init operator` generates them pass their own tests, one of which runs them on a control plane
// with the permissions that they ship.
func TestStarter(t *testing.T) {
	t.Parallel() // it mostly waits
	stoic := build(t, ".")
	engine, err := filepath.Abs(root)
	if err != nil {
		t.Fatal(err)
	}
	for name, args := range map[string][]string{
		"namespaced": {"--kind", "Widget", "--fields", "a:string,b:int,c:[]string,d:bool,e:[]int"},
		"cluster":    {"--kind", "Proxy", "--version", "v1", "--cluster", "--fields", "items:[]string"},
	} {
		t.Run(name, func(t *testing.T) {
			folder := filepath.Join(t.TempDir(), "made")
			if out, err := exec.Command(stoic, append([]string{"init", "operator", "--group", "apps.example.com", "--dir", folder, "--engine", engine}, args...)...).CombinedOutput(); err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			cmd := exec.Command("go", "test", "-count=1", "-v", "./...")
			cmd.Dir = folder
			out, err := cmd.CombinedOutput()
			if err != nil {
				t.Errorf("%v\n%s", err, out)
			}
			if name == "namespaced" {
				t.Run("rights", func(t *testing.T) { starterRights(t, folder) })
			}
		})
	}
}

// starterRights: the program that make build writes uses each of its rights.
func starterRights(t *testing.T, folder string) {
	const account = "system:serviceaccount:widget-operator:widget-operator"
	deploy := filepath.Join(folder, "deploy")
	made := exec.Command("make", "build")
	made.Dir, made.Env = folder, operator.OutsideMake()
	if out, err := made.CombinedOutput(); err != nil {
		t.Fatalf("make build: %v\n%s", err, out)
	}
	r := bareRig(t, cluster.Options{Nodes: -1, Strict: true, Users: map[string]string{"widget": account}, CRDs: []string{deploy + "/crd"}})
	r.kubectl(t, nil, "apply", "-f", deploy+"/namespace.yaml", "-f", deploy+"/rbac.yaml", "-f", deploy+"/users.yaml")
	t.Run("users", func(t *testing.T) { starterUsers(t, r) })
	start := func() *process {
		return r.asShipped(t, filepath.Join(folder, "bin/widget-operator"), "widget", deploy+"/deployment.yaml", "widget-operator")
	}
	p := start()
	ns := r.namespace(t, "widgets")
	widget := func(ns, name, a string) {
		r.apply(t, ns, "apiVersion: apps.example.com/v1alpha1\nkind: Widget\nmetadata: {name: "+name+"}\nspec: {a: "+a+"}\n")
	}
	widget(ns, "web", "one")
	r.kubectl(t, nil, "-n", ns, "wait", "--for=condition=Ready", "widget/web", "--timeout=3m")
	widget(ns, "web", "two")
	r.kubectl(t, nil, "-n", ns, "wait", "--for=jsonpath={.data.a}=two", "configmap/web-widget", "--timeout=3m")
	r.kubectl(t, nil, "-n", ns, "create", "configmap", "taken-widget")
	widget(ns, "taken", "one")
	await(t, "the event of a foreign ConfigMap", func() (bool, string) {
		out := r.kubectl(t, nil, "-n", ns, "get", "events", "-o", "jsonpath={.items[*].reason}")
		return strings.Contains(out, "NameConflict"), out
	})
	p.stop(t)
	p = start() // it reads the Widget from the API server before it retries the creation
	guards := []guard{{finalizersOf("apps.example.com", "widgets"), []string{account}, "Widget", func(t *testing.T, ns string) { widget(ns, "guarded", "one") }}}
	finalizersAreGuarded(t, r, "finalizers", guards, deploy+"/rbac.yaml")
	p.stop(t)
	eachRightIsUsed(t, r, guards, deploy+"/rbac.yaml")
}

// starterUsers: Kubernetes' own roles include Widgets, too; only the operator writes their status.
func starterUsers(t *testing.T, r *rig) {
	ns := r.namespace(t, "people")
	for user, role := range map[string]string{"alice": "admin", "eve": "edit", "victor": "view"} {
		r.kubectl(t, nil, "-n", ns, "create", "rolebinding", user, "--clusterrole="+role, "--user="+user)
	}
	for _, user := range []string{"alice", "eve", "victor"} {
		for _, verb := range []string{"get", "list", "watch", "create", "update", "patch", "delete", "deletecollection"} {
			reads := verb == "get" || verb == "list" || verb == "watch"
			of, status := right{verb, "apps.example.com", "widgets"}, right{verb, "apps.example.com", "widgets/status"}
			if reads || user != "victor" {
				await(t, user+" to have the right to "+of.String(), func() (bool, string) { return r.mayIn(t, user, ns, of), "no" }) // roles are aggregated after a moment
			} else if r.mayIn(t, user, ns, of) {
				t.Errorf("%s has the right to %s", user, of)
			}
			if r.mayIn(t, user, ns, status) != (verb == "get") {
				t.Errorf("%s: only get of the status must be allowed; %s is not so", user, verb)
			}
		}
	}
}
