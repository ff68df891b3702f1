package integration

import (
	"context"
	"fmt"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	runtimeschema "k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"stoic/cli/cluster"
	fooexample "stoic/examples/operators/foo"
)

const (
	fooUser   = "system:serviceaccount:test-operators:foo-operator"
	fooDeploy = root + "/examples/operators/foo/deploy"
)

// foos is a control plane with the operator of examples/operators/foo, with its shipped permissions.
type foos struct {
	*rig
	program string
}

// TestFoo runs the sample's operator.
func TestFoo(t *testing.T) {
	t.Parallel() // it mostly waits
	f := &foos{program: build(t, "./examples/operators/foo/cmd", raceDetector()...)}
	f.rig = bareRig(t, cluster.Options{Nodes: 1, Strict: true, Users: map[string]string{"foo": fooUser}, CRDs: []string{filepath.Join(root, "test/fixtures/foos-open.yaml")}})
	f.kubectl(t, nil, "apply", "-f", fooDeploy+"/namespace.yaml", "-f", fooDeploy+"/rbac.yaml")
	f.storeMalformed(t)
	f.redefine(t, fooDeploy+"/crd")
	p := f.start(t)
	t.Run("scenarios", func(t *testing.T) {
		sideBySide(t, f, map[string]func(*testing.T, *foos){
			"malformed":     fooMalformed,
			"renamed":       fooRenamed,
			"scaled":        fooScaled,
			"foreign":       fooForeign,
			"recreated":     fooRecreated,
			"status edited": fooStatusEdited,
		})
	})
	t.Run("idle", func(t *testing.T) { f.awaitIdle(t, fooUser, "foo_operator", p) })
	guards := []guard{{finalizersOf("samplecontroller.k8s.io", "foos"), []string{fooUser}, "Foo", func(t *testing.T, ns string) {
		f.apply(t, ns, foo("guarded", "{deploymentName: a}"))
	}}}
	t.Run("finalizers", func(t *testing.T) { finalizersAreGuarded(t, f.rig, "finalizers", guards, fooDeploy+"/rbac.yaml") })
	p.stop(t)
	f.begun(t, fooexample.Watches(), "foos", f.namespace(t, "begun"), "begun", foo("begun", "{deploymentName: a}"))
	t.Run("killed", func(t *testing.T) { fooKilled(t, f) })
	t.Run("CRD recreated", func(t *testing.T) { fooCRDRecreated(t, f) })
	for _, q := range f.requestsOf(t, fooUser) {
		if q.ResponseStatus.Code == http.StatusForbidden && !q.guarded() {
			t.Errorf("forbidden: %s %s", q.Verb, q.RequestURI)
		}
	}
	t.Run("each right is used", func(t *testing.T) { eachRightIsUsed(t, f.rig, guards, fooDeploy+"/rbac.yaml") })
}

func (f *foos) start(t *testing.T) *process {
	t.Helper()
	f.kubectl(t, nil, "-n", "test-operators", "delete", "lease", "foo-operator", "--ignore-not-found") // else it waits until that expires
	return f.asShipped(t, f.program, "foo", fooDeploy+"/deployment.yaml", "foo-operator")
}

func foo(name, spec string) string {
	if spec != "" {
		spec = "\nspec: " + spec
	}
	return "apiVersion: samplecontroller.k8s.io/v1alpha1\nkind: Foo\nmetadata: {name: " + name + "}" + spec + "\n"
}

func (f *foos) get(t *testing.T, ns, name string) *unstructured.Unstructured {
	t.Helper()
	return f.read(t, fooResource(), ns, name)
}

// awaitFoo waits until the status reports the generation, this condition and so many available pods.
func (f *foos) awaitFoo(t *testing.T, ns, name, of, says string, available int64) {
	t.Helper()
	await(t, fmt.Sprintf("%s/%s to be %s %s with %d", ns, name, of, says, available), func() (bool, string) {
		u := f.get(t, ns, name)
		if u == nil {
			return false, "nothing"
		}
		is, message := condition(u, of)
		n, _, _ := unstructured.NestedInt64(u.Object, "status", "availableReplicas")
		generation, _, _ := unstructured.NestedInt64(u.Object, "status", "observedGeneration")
		return is == says && n == available && generation == u.GetGeneration(), fmt.Sprint(is, ": ", message, "; ", n)
	})
}

// deployments returns those of a namespace, each as name=replicas.
func (f *foos) deployments(t *testing.T, ns string) string {
	t.Helper()
	list, err := f.typed.AppsV1().Deployments(ns).List(context.Background(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for _, d := range list.Items {
		found = append(found, fmt.Sprintf("%s=%d", d.Name, *d.Spec.Replicas))
	}
	slices.Sort(found)
	return strings.Join(found, " ")
}

func (f *foos) awaitDeployments(t *testing.T, ns, want string) {
	t.Helper()
	await(t, "the Deployments "+want, func() (bool, string) {
		got := f.deployments(t, ns)
		return got == want, got
	})
}

func fooResource() runtimeschema.GroupVersionResource {
	return runtimeschema.GroupVersionResource{Group: "samplecontroller.k8s.io", Version: "v1alpha1", Resource: "foos"}
}

func (f *foos) patch(t *testing.T, ns, name, patch string) {
	t.Helper()
	mergePatch(t, f.dynamic.Resource(fooResource()).Namespace(ns), name, patch)
}

// malformedFoos returns specs that an API server with an open schema stores; path is where the first problem of each is.
func malformedFoos() []malformed {
	return []malformed{
		{name: "replicas-string", path: "spec.replicas", spec: `{deploymentName: a, replicas: "3"}`},
		{name: "replicas-word", path: "spec.replicas", spec: `{deploymentName: a, replicas: many}`},
		{name: "replicas-negative", path: "spec.replicas", spec: `{deploymentName: a, replicas: -1}`},
		{name: "replicas-huge", path: "spec.replicas", spec: `{deploymentName: a, replicas: 2147483648}`},
		{name: "replicas-fraction", path: "spec.replicas", spec: `{deploymentName: a, replicas: 0.5}`},
		{name: "name-absent", path: "spec.deploymentName", spec: `{replicas: 1}`},
		{name: "name-null", path: "spec.deploymentName", spec: `{deploymentName: null}`},
		{name: "name-empty", path: "spec.deploymentName", spec: `{deploymentName: ""}`},
		{name: "name-integer", path: "spec.deploymentName", spec: `{deploymentName: 7}`},
		{name: "name-list", path: "spec.deploymentName", spec: `{deploymentName: [a]}`},
		{name: "name-upper", path: "spec.deploymentName", spec: `{deploymentName: Web_1}`},
		{name: "name-long", path: "spec.deploymentName", spec: `{deploymentName: ` + strings.Repeat("a", 64) + `}`},
		{name: "name-huge", path: "spec.deploymentName", spec: `{deploymentName: ` + strings.Repeat("a", 200_000) + `}`},
		{name: "spec-string", path: "spec", spec: `nonsense`},
		{name: "spec-list", path: "spec", spec: `[1]`},
		{name: "no-spec", path: "spec.deploymentName", spec: ""},
	}
}

// oddFooStatuses returns statuses that an open schema accepts.
func oddFooStatuses() []string {
	return []string{`7`, `"text"`, `{"availableReplicas":"many"}`, `{"conditions":[1,null,{"type":"Ready"}]}`, `{"observedGeneration":"many"}`}
}

func (f *foos) storeMalformed(t *testing.T) {
	t.Helper()
	ns := f.namespace(t, "malformed")
	var all []string
	for _, m := range malformedFoos() {
		all = append(all, foo(m.name, m.spec))
	}
	for i := range oddFooStatuses() {
		all = append(all, foo(fmt.Sprintf("sound-%d", i), fmt.Sprintf("{deploymentName: d-%d, replicas: 1}", i)))
	}
	f.kubectl(t, []byte(strings.Join(all, "---\n")), "-n", ns, "create", "-f", "-")
	for i, status := range oddFooStatuses() {
		for _, name := range []string{malformedFoos()[i].name, fmt.Sprintf("sound-%d", i)} {
			f.kubectl(t, nil, "-n", ns, "patch", "foo", name, "--subresource=status", "--type=merge", "-p", `{"status":`+status+`}`)
		}
	}
}

// fooMalformed: each has its condition and its event with the exact path, and the well-formed ones are served.
func fooMalformed(t *testing.T, f *foos) {
	const ns = "malformed"
	var sound []string
	for i := range oddFooStatuses() {
		f.awaitFoo(t, ns, fmt.Sprintf("sound-%d", i), "Ready", "True Available", 1)
		sound = append(sound, fmt.Sprintf("d-%d=1", i))
	}
	for _, m := range malformedFoos() {
		(&foobars{rig: f.rig}).awaitEvent(t, ns, m.name, "FooFailedValidation", m.path, m.path+": ")
		f.awaitFoo(t, ns, m.name, "Stalled", "True InvalidSpec", 0)
	}
	if got := f.deployments(t, ns); got != strings.Join(sound, " ") {
		t.Errorf("Deployments %s, want %v", got, sound)
	}
}

// fooRenamed: the former Deployment is deleted once the new one exists, and not before.
func fooRenamed(t *testing.T, f *foos) {
	ns := f.namespace(t, "renamed")
	f.apply(t, ns, foo("one", "{deploymentName: a, replicas: 2}"))
	f.awaitFoo(t, ns, "one", "Ready", "True Available", 2)
	f.patch(t, ns, "one", `{"spec":{"deploymentName":"b"}}`)
	f.awaitDeployments(t, ns, "b=2")
	f.awaitFoo(t, ns, "one", "Ready", "True Available", 2)
	made, gone := -1, -1
	for i, q := range f.requestsOf(t, fooUser) {
		switch {
		case q.ObjectRef.Namespace != ns || q.ObjectRef.Resource != "deployments":
		case q.Verb == "create":
			made = i
		case q.Verb == "delete" && gone < 0:
			gone = i
		}
	}
	if made < 0 || gone < made {
		t.Errorf("the second Deployment is request %d, the deletion of the first is %d", made, gone)
	}
	f.kubectl(t, nil, "-n", ns, "delete", "foo", "one", "--cascade=foreground", "--timeout=3m")
	f.awaitDeployments(t, ns, "")
}

// fooScaled: the Foo decides the replicas, and no other field.
func fooScaled(t *testing.T, f *foos) {
	ns := f.namespace(t, "scaled")
	f.apply(t, ns, foo("two", "{deploymentName: a}"))
	f.awaitFoo(t, ns, "two", "Ready", "True Available", 1)
	f.kubectl(t, nil, "-n", ns, "scale", "deployment", "a", "--replicas=5")
	f.awaitDeployments(t, ns, "a=1")
	f.kubectl(t, nil, "-n", ns, "set", "image", "deployment/a", "nginx=nginx:1.27")
	f.patch(t, ns, "two", `{"spec":{"replicas":3}}`)
	f.awaitFoo(t, ns, "two", "Ready", "True Available", 3)
	d, err := f.typed.AppsV1().Deployments(ns).Get(context.Background(), "a", metav1.GetOptions{})
	if err != nil || d.Spec.Template.Spec.Containers[0].Image != "nginx:1.27" {
		t.Errorf("the Deployment: %+v, %v", d.Spec.Template.Spec, err)
	}
	f.kubectl(t, nil, "-n", ns, "label", "deployment", "a", "samplecontroller.k8s.io/operator-")
	await(t, "the label to be put back", func() (bool, string) {
		d, err := f.typed.AppsV1().Deployments(ns).Get(context.Background(), "a", metav1.GetOptions{})
		return err == nil && d.Labels["samplecontroller.k8s.io/operator"] == "foo", fmt.Sprint(d.Labels, err)
	})
	f.kubectl(t, nil, "-n", ns, "delete", "deployment", "a", "--wait=false")
	await(t, "another Deployment", func() (bool, string) {
		now, err := f.typed.AppsV1().Deployments(ns).Get(context.Background(), "a", metav1.GetOptions{})
		return err == nil && now.UID != d.UID, fmt.Sprint(err)
	})
	f.patch(t, ns, "two", `{"spec":{"replicas":0}}`)
	f.awaitFoo(t, ns, "two", "Ready", "True Available", 0)
}

// fooForeign: a foreign Deployment is left alone and reported, and the former one stays.
func fooForeign(t *testing.T, f *foos) {
	ns := f.namespace(t, "foreign")
	f.kubectl(t, nil, "-n", ns, "create", "deployment", "taken", "--image=mine:1")
	f.apply(t, ns, foo("three", "{deploymentName: free, replicas: 1}"))
	f.awaitFoo(t, ns, "three", "Ready", "True Available", 1)
	f.patch(t, ns, "three", `{"spec":{"deploymentName":"taken","replicas":4}}`)
	(&foobars{rig: f.rig}).awaitEvent(t, ns, "three", "NameConflict", "", "Deployment foreign/taken already exists and is not managed by Foo three;")
	f.awaitFoo(t, ns, "three", "Ready", "False NameTaken", 1)
	f.awaitDeployments(t, ns, "free=1 taken=1")
	f.kubectl(t, nil, "-n", ns, "delete", "foo", "three", "--timeout=3m")
	f.awaitDeployments(t, ns, "taken=1")
}

func fooRecreated(t *testing.T, f *foos) {
	ns := f.namespace(t, "recreated")
	seen := map[types.UID]bool{}
	for range 3 {
		f.apply(t, ns, foo("four", "{deploymentName: a, replicas: 1}"))
		f.awaitFoo(t, ns, "four", "Ready", "True Available", 1)
		d, err := f.typed.AppsV1().Deployments(ns).Get(context.Background(), "a", metav1.GetOptions{})
		if err != nil || seen[d.UID] || metav1.GetControllerOf(d).UID != f.get(t, ns, "four").GetUID() {
			t.Errorf("the Deployment: %+v, %v", d, err)
		}
		seen[d.UID] = true
		f.kubectl(t, nil, "-n", ns, "delete", "foo", "four", "--timeout=3m")
	}
	f.awaitDeployments(t, ns, "")
}

func fooStatusEdited(t *testing.T, f *foos) {
	ns := f.namespace(t, "edited")
	f.apply(t, ns, foo("five", "{deploymentName: a, replicas: 1}"))
	f.awaitFoo(t, ns, "five", "Ready", "True Available", 1)
	for _, status := range []string{`{"status":null}`, `{"status":{"availableReplicas":77,"conditions":[]}}`, `{"status":{"observedGeneration":77}}`} {
		f.kubectl(t, nil, "-n", ns, "patch", "foo", "five", "--subresource=status", "--type=merge", "-p", status)
		f.awaitFoo(t, ns, "five", "Ready", "True Available", 1)
	}
	f.awaitDeployments(t, ns, "a=1")
}

// fooKilled: the operator is killed after the second Deployment was created and before the first one is deleted.
func fooKilled(t *testing.T, f *foos) {
	ns := f.namespace(t, "killed")
	p := f.start(t)
	f.apply(t, ns, foo("six", "{deploymentName: d-0, replicas: 1}"))
	f.awaitFoo(t, ns, "six", "Ready", "True Available", 1)
	for i := 1; i <= 3; i++ {
		f.patch(t, ns, "six", fmt.Sprintf(`{"spec":{"deploymentName":"d-%d"}}`, i))
		await(t, "the new Deployment", func() (bool, string) {
			got := f.deployments(t, ns)
			return strings.Contains(got, fmt.Sprintf("d-%d=", i)), got
		})
		p.kill(t)
		if i == 2 {
			f.kubectl(t, nil, "-n", ns, "patch", "foo", "six", "--subresource=status", "--type=merge", "-p", `{"status":null}`)
		}
		p = f.start(t)
		f.awaitDeployments(t, ns, fmt.Sprintf("d-%d=1", i))
		f.awaitFoo(t, ns, "six", "Ready", "True Available", 1)
	}
	p.stop(t)
}

// fooCRDRecreated: the CRD is deleted with all objects and recreated, for a running process and for one that starts before it.
func fooCRDRecreated(t *testing.T, f *foos) {
	ns := f.namespace(t, "again")
	p := f.start(t)
	f.apply(t, ns, foo("seven", "{deploymentName: a, replicas: 1}"))
	f.awaitFoo(t, ns, "seven", "Ready", "True Available", 1)
	f.undefine(t, fooDeploy+"/crd/foos.yaml")
	f.awaitDeployments(t, ns, "")
	f.define(t, fooDeploy+"/crd/foos.yaml")
	serves := func() {
		await(t, "the Foo to be taken", func() (bool, string) {
			out, err := f.tryKubectl([]byte(foo("seven", "{deploymentName: a, replicas: 1}")), "-n", ns, "apply", "-f", "-")
			return err == nil, out
		})
		f.awaitFoo(t, ns, "seven", "Ready", "True Available", 1)
	}
	serves()
	f.beforeItsCRD(t, p, func() *process { return f.start(t) }, fooDeploy+"/crd", []string{"Foo"}, serves)
}
