package integration

import (
	"context"
	"fmt"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	runtimeschema "k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"

	"stoic/cli/cluster"
	foobarexample "stoic/examples/operators/foobar"
)

const (
	foobarUser   = "system:serviceaccount:test-operators:foobar-operator"
	foobarDeploy = root + "/examples/operators/foobar/deploy"
	foobarLabel  = "test.example.com/operator=foobar"
)

// foobars is a control plane with the operator of examples/operators/foobar, with its shipped permissions.
type foobars struct {
	*rig
	program string
}

// TestFooBar runs an operator that uses only the engine.
func TestFooBar(t *testing.T) {
	t.Parallel() // it mostly waits
	f := &foobars{program: build(t, "./examples/operators/foobar/cmd", raceDetector()...)}
	f.rig = bareRig(t, cluster.Options{Nodes: -1, Strict: true, Users: map[string]string{"foobar": foobarUser},
		CRDs: []string{filepath.Join(root, "test/fixtures/foobars-open.yaml"), filepath.Join(root, "test/fixtures/clusterfoobars-open.yaml")}})
	f.kubectl(t, nil, "apply", "-f", foobarDeploy+"/namespace.yaml", "-f", foobarDeploy+"/rbac.yaml")
	f.namespace(t, "malformed")
	f.storeMalformed(t)
	f.redefine(t, foobarDeploy+"/crd")
	began := time.Now()
	p := f.start(t)
	t.Run("scenarios", func(t *testing.T) {
		sideBySide(t, f, map[string]func(*testing.T, *foobars){
			"malformed":             foobarMalformed,
			"target changed":        foobarTargetChanged,
			"another namespace":     foobarElsewhere,
			"recreated":             foobarRecreated,
			"status edited":         foobarStatusEdited,
			"foreign ConfigMap":     foobarForeign,
			"foreign one elsewhere": foobarForeignElsewhere,
			"ConfigMap edited":      foobarConfigMapEdited,
			"refused":               foobarRefused,
			"cluster-scoped":        foobarClusterScoped,
			"namespace comes later": foobarNamespaceLater,
		})
	})
	t.Run("idle", func(t *testing.T) { foobarIdle(t, f, p) })
	t.Run("status of another type", func(t *testing.T) { foobarStatusOfAnotherType(t, f) })
	guards := f.guards()
	t.Run("finalizers", func(t *testing.T) { finalizersAreGuarded(t, f.rig, "finalizers", guards, foobarDeploy+"/rbac.yaml") })
	p.stop(t)
	t.Run("killed", func(t *testing.T) { foobarKilled(t, f) })
	t.Run("spoiled half way", func(t *testing.T) { foobarSpoiledHalfWay(t, f) })
	begun := f.namespace(t, "begun")
	f.begun(t, foobarexample.Watches(), "foobars", begun, "begun", foobar("FooBar", "begun", "{target: a}"))
	f.begun(t, foobarexample.Watches(), "clusterfoobars", begun, "begun", foobar("ClusterFooBar", "begun", "{target: b, targetNamespace: begun}"))
	t.Run("CRD recreated", func(t *testing.T) { foobarCRDRecreated(t, f) })
	for _, q := range f.requestsOf(t, foobarUser) {
		if q.ResponseStatus.Code == http.StatusForbidden && !strings.Contains(q.RequestURI, "/namespaces/gone/") && !q.guarded() {
			t.Errorf("forbidden: %s %s", q.Verb, q.RequestURI)
		}
	}
	t.Run("each right is used", func(t *testing.T) { eachRightIsUsed(t, f.rig, guards, foobarDeploy+"/rbac.yaml") })
	t.Logf("FooBar took %v after the control plane was up", time.Since(began))
}

func (f *foobars) start(t *testing.T, more ...string) *process {
	t.Helper()
	return f.asShipped(t, f.program, "foobar", foobarDeploy+"/deployment.yaml", "foobar-operator", more...)
}

func (f *foobars) guards() []guard {
	by := []string{foobarUser}
	return []guard{
		{finalizersOf("test.example.com", "foobars"), by, "FooBar", func(t *testing.T, ns string) { f.apply(t, ns, foobar("FooBar", "guarded", "{target: a}")) }},
		{finalizersOf("test.example.com", "clusterfoobars"), by, "ClusterFooBar", func(t *testing.T, ns string) {
			f.apply(t, "", foobar("ClusterFooBar", "guarded", "{target: b, targetNamespace: "+ns+"}"))
		}},
	}
}

func foobar(kind, name, spec string) string {
	if spec != "" {
		spec = "\nspec: " + spec
	}
	return "apiVersion: test.example.com/v1alpha1\nkind: " + kind + "\nmetadata: {name: " + name + "}" + spec + "\n"
}

// read returns a FooBar, or a ClusterFooBar if the namespace is empty; nil if it does not exist.
func (f *foobars) read(t *testing.T, ns, name string) *unstructured.Unstructured {
	t.Helper()
	all := f.dynamic.Resource(runtimeschema.GroupVersionResource{Group: "test.example.com", Version: "v1alpha1", Resource: "clusterfoobars"})
	get := all.Get
	if ns != "" {
		get = f.all(ns).Get
	}
	u, err := get(context.Background(), name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		t.Fatalf("get %s/%s: %v", ns, name, err)
	}
	return u
}

// condition returns a condition such as "True Exists", with the message.
func condition(u *unstructured.Unstructured, of string) (says, message string) {
	conditions, _, _ := unstructured.NestedSlice(u.Object, "status", "conditions")
	for _, raw := range conditions {
		if c, _ := raw.(map[string]any); c["type"] == of {
			return fmt.Sprint(c["status"], " ", c["reason"]), fmt.Sprint(c["message"])
		}
	}
	return "none", ""
}

// target returns namespace/name of the ConfigMap in the status.
func target(u *unstructured.Unstructured) string {
	ns, _, _ := unstructured.NestedString(u.Object, "status", "targetNamespace")
	name, _, _ := unstructured.NestedString(u.Object, "status", "target")
	return ns + "/" + name
}

// awaitReady waits until a FooBar is ready with that ConfigMap in its status, and reports this generation.
func (f *foobars) awaitReady(t *testing.T, ns, name, want string) {
	t.Helper()
	await(t, ns+"/"+name+" to be ready", func() (bool, string) {
		u := f.read(t, ns, name)
		if u == nil {
			return false, "nothing"
		}
		ready, message := condition(u, "Ready")
		generation, _, _ := unstructured.NestedInt64(u.Object, "status", "observedGeneration")
		return ready == "True Exists" && target(u) == want && generation == u.GetGeneration(), fmt.Sprint(ready, ": ", message, ", on record ", target(u))
	})
}

// maps returns the ConfigMaps of the operator in some namespaces, with the FooBar that each names.
func (f *foobars) maps(t *testing.T, namespaces ...string) string {
	t.Helper()
	var found []string
	for _, ns := range namespaces {
		list, err := f.typed.CoreV1().ConfigMaps(ns).List(context.Background(), metav1.ListOptions{LabelSelector: foobarLabel})
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range list.Items {
			found = append(found, ns+"/"+c.Name+"="+c.Data["foobar"])
		}
	}
	slices.Sort(found)
	return strings.Join(found, " ")
}

func (f *foobars) awaitMaps(t *testing.T, want string, namespaces ...string) {
	t.Helper()
	await(t, "the ConfigMaps "+want, func() (bool, string) {
		got := f.maps(t, namespaces...)
		return got == want, got
	})
}

func (f *foobars) all(ns string) dynamic.ResourceInterface {
	return f.dynamic.Resource(runtimeschema.GroupVersionResource{Group: "test.example.com", Version: "v1alpha1", Resource: "foobars"}).Namespace(ns)
}

func (f *foobars) patch(t *testing.T, ns, name, patch string) {
	t.Helper()
	mergePatch(t, f.all(ns), name, patch)
}

// foobarTargetChanged: the former ConfigMap is deleted once the new one exists, and not before.
func foobarTargetChanged(t *testing.T, f *foobars) {
	ns := f.namespace(t, "changed")
	changes, err := f.typed.CoreV1().ConfigMaps(ns).Watch(context.Background(), metav1.ListOptions{LabelSelector: foobarLabel})
	if err != nil {
		t.Fatal(err)
	}
	defer changes.Stop()
	f.apply(t, ns, foobar("FooBar", "one", "{target: a}"))
	f.awaitReady(t, ns, "one", ns+"/a")
	c, err := f.typed.CoreV1().ConfigMaps(ns).Get(context.Background(), "a", metav1.GetOptions{})
	if err != nil || c.Data["foobar"] != "one" || c.Data["type"] != "Copy" || len(c.OwnerReferences) != 1 || c.OwnerReferences[0].Name != "one" {
		t.Errorf("the ConfigMap: %+v, %v", c, err)
	}
	if finalizers := f.read(t, ns, "one").GetFinalizers(); len(finalizers) > 0 {
		t.Errorf("guards nothing: %v", finalizers)
	}
	f.patch(t, ns, "one", `{"spec":{"target":"b"}}`)
	f.awaitReady(t, ns, "one", ns+"/b")
	f.awaitMaps(t, ns+"/b=one", ns)
	f.patch(t, ns, "one", `{"spec":{"type":"Link"}}`)
	await(t, "the other type", func() (bool, string) {
		c, err := f.typed.CoreV1().ConfigMaps(ns).Get(context.Background(), "b", metav1.GetOptions{})
		return err == nil && c.Data["type"] == "Link", fmt.Sprint(c, err)
	})
	f.kubectl(t, nil, "-n", ns, "delete", "foobar", "one")
	f.awaitMaps(t, "", ns)
	var order []string
	for len(order) == 0 || order[len(order)-1] != "DELETED b" {
		select {
		case event := <-changes.ResultChan():
			object, err := nameOf(event)
			if err != nil {
				t.Fatal(err)
			}
			if event.Type != watch.Modified {
				order = append(order, string(event.Type)+" "+object)
			}
		case <-time.After(patience):
			t.Fatalf("the watch has shown %v", order)
		}
	}
	if got := strings.Join(order, ", "); got != "ADDED a, ADDED b, DELETED a, DELETED b" {
		t.Errorf("the order of events: %s", got)
	}
}

// nameOf returns the name of the object of an event.
func nameOf(e watch.Event) (string, error) {
	object, ok := e.Object.(metav1.Object)
	if !ok {
		return "", fmt.Errorf("an event %s of %T", e.Type, e.Object)
	}
	return object.GetName(), nil
}

// foobarElsewhere: a finalizer guards a ConfigMap that no owner reference reaches.
func foobarElsewhere(t *testing.T, f *foobars) {
	ns, other := f.namespace(t, "here"), f.namespace(t, "there")
	f.apply(t, ns, foobar("FooBar", "two", "{target: a, targetNamespace: there}"))
	f.awaitReady(t, ns, "two", "there/a")
	u := f.read(t, ns, "two")
	if finalizers := fmt.Sprint(u.GetFinalizers()); finalizers != "[test.example.com/cleanup]" {
		t.Errorf("finalizers %s", finalizers)
	}
	c, err := f.typed.CoreV1().ConfigMaps(other).Get(context.Background(), "a", metav1.GetOptions{})
	want := "test.example.com/v1alpha1 FooBar here/two " + string(u.GetUID())
	if err != nil || len(c.OwnerReferences) != 0 || c.Annotations["test.example.com/owner"] != want {
		t.Errorf("the ConfigMap: %+v, %v, want the annotation %s", c, err, want)
	}
	guarded, made := -1, -1
	for i, q := range f.requestsOf(t, foobarUser) {
		switch {
		case q.Verb == "patch" && q.ObjectRef.Name == "two" && q.ObjectRef.Namespace == ns && q.ObjectRef.Subresource == "" && guarded < 0:
			guarded = i
		case q.Verb == "create" && q.ObjectRef.Resource == "configmaps" && q.ObjectRef.Namespace == other && made < 0:
			made = i
		}
	}
	if guarded < 0 || made < guarded {
		t.Errorf("the finalizer is request %d, the ConfigMap is %d", guarded, made)
	}
	f.patch(t, ns, "two", `{"spec":{"target":"b"}}`)
	f.awaitMaps(t, "there/b=two", ns, other)
	f.patch(t, ns, "two", `{"spec":{"targetNamespace":null}}`)
	f.awaitMaps(t, "here/b=two", ns, other)
	f.patch(t, ns, "two", `{"spec":{"targetNamespace":"there"}}`)
	f.awaitMaps(t, "there/b=two", ns, other)
	f.kubectl(t, nil, "-n", ns, "delete", "foobar", "two", "--timeout=3m")
	f.awaitMaps(t, "", ns, other)
}

func foobarStatusEdited(t *testing.T, f *foobars) {
	ns := f.namespace(t, "edited")
	f.apply(t, ns, foobar("FooBar", "three", "{target: a}"))
	f.awaitReady(t, ns, "three", ns+"/a")
	for _, status := range []string{`{"status":null}`, `{"status":{"target":"other","conditions":[]}}`, `{"status":{"observedGeneration":77}}`} {
		f.kubectl(t, nil, "-n", ns, "patch", "foobar", "three", "--subresource=status", "--type=merge", "-p", status)
		f.awaitReady(t, ns, "three", ns+"/a")
	}
	f.awaitMaps(t, ns+"/a=three", ns)
}

// foobarForeign: a foreign ConfigMap is left alone and reported.
func foobarForeign(t *testing.T, f *foobars) {
	ns := f.namespace(t, "foreign")
	f.kubectl(t, nil, "-n", ns, "create", "configmap", "taken", "--from-literal=whose=mine")
	f.apply(t, ns, foobar("FooBar", "four", "{target: free}"))
	f.awaitReady(t, ns, "four", ns+"/free")
	f.patch(t, ns, "four", `{"spec":{"target":"taken"}}`)
	f.awaitEvent(t, ns, "four", "NameConflict", "", "ConfigMap foreign/taken already exists and is not managed by FooBar four;")
	u := f.read(t, ns, "four")
	if ready, _ := condition(u, "Ready"); ready != "False Creating" || target(u) != ns+"/free" {
		t.Errorf("Ready is %s, on record %s", ready, target(u))
	}
	f.awaitMaps(t, ns+"/free=four", ns) // the former one stays until a new one exists
	f.kubectl(t, nil, "-n", ns, "delete", "foobar", "four")
	f.awaitMaps(t, "", ns)
	if out := f.kubectl(t, nil, "-n", ns, "get", "configmap", "taken", "-o", "jsonpath={.data.whose}"); out != "mine" {
		t.Errorf("the foreign ConfigMap says %q", out)
	}
}

// foobarForeignElsewhere: the same in another namespace, where a finalizer waits only for the FooBar's own ConfigMap.
func foobarForeignElsewhere(t *testing.T, f *foobars) {
	ns, other := f.namespace(t, "foreign-here"), f.namespace(t, "foreign-there")
	f.kubectl(t, nil, "-n", other, "create", "configmap", "taken", "--from-literal=whose=mine")
	before := f.object(t, other, "configmap", "taken")
	f.apply(t, ns, foobar("FooBar", "thirteen", "{target: free, targetNamespace: foreign-there}"))
	f.awaitReady(t, ns, "thirteen", other+"/free")
	f.patch(t, ns, "thirteen", `{"spec":{"target":"taken"}}`)
	f.awaitEvent(t, ns, "thirteen", "NameConflict", "", "ConfigMap foreign-there/taken already exists and is not managed by FooBar thirteen;")
	f.awaitMaps(t, "foreign-there/free=thirteen", ns, other)
	f.kubectl(t, nil, "-n", ns, "delete", "foobar", "thirteen", "--timeout=3m")
	f.awaitMaps(t, "", ns, other)
	f.awaitEvent(t, ns, "thirteen", "ConfigMapLeft", "", "ConfigMap foreign-there/taken has another owner and stays")
	if after := f.object(t, other, "configmap", "taken"); after != before {
		t.Errorf("the foreign ConfigMap was %s and is %s", before, after)
	}
}

func foobarConfigMapEdited(t *testing.T, f *foobars) {
	ns := f.namespace(t, "drift")
	f.apply(t, ns, foobar("FooBar", "five", "{target: a}"))
	f.awaitReady(t, ns, "five", ns+"/a")
	f.kubectl(t, nil, "-n", ns, "patch", "configmap", "a", "--type=merge", "-p", `{"data":{"foobar":"else","more":"kept"}}`)
	f.awaitMaps(t, ns+"/a=five", ns)
	f.kubectl(t, nil, "-n", ns, "label", "configmap", "a", "test.example.com/operator-")
	f.awaitMaps(t, ns+"/a=five", ns)
	f.kubectl(t, nil, "-n", ns, "delete", "configmap", "a", "--wait=false")
	f.awaitMaps(t, ns+"/a=five", ns)
	f.awaitReady(t, ns, "five", ns+"/a")
}

// foobarRefused: the CRD rejects malformed specs, and existing objects stay.
func foobarRefused(t *testing.T, f *foobars) {
	ns := f.namespace(t, "turned")
	f.apply(t, ns, foobar("FooBar", "six", "{target: a}"))
	f.awaitReady(t, ns, "six", ns+"/a")
	if _, err := f.tryKubectl(nil, "-n", ns, "patch", "foobar", "six", "--type=merge", "-p", `{"spec":{"target":"No_Name"}}`); err == nil {
		t.Error("the CRD lets a malformed target in")
	}
	f.awaitMaps(t, ns+"/a=six", ns)
}

func foobarClusterScoped(t *testing.T, f *foobars) {
	ns, other := f.namespace(t, "wide-a"), f.namespace(t, "wide-b")
	f.kubectl(t, []byte(foobar("ClusterFooBar", "seven", "{target: a, targetNamespace: wide-a}")), "apply", "-f", "-")
	f.awaitReady(t, "", "seven", "wide-a/a")
	f.kubectl(t, nil, "patch", "cfb", "seven", "--type=merge", "-p", `{"spec":{"targetNamespace":"wide-b"}}`)
	f.awaitReady(t, "", "seven", "wide-b/a")
	f.awaitMaps(t, "wide-b/a=seven", ns, other)
	if out, err := f.tryKubectl([]byte(foobar("ClusterFooBar", "eight", "{target: a}")), "apply", "-f", "-"); err == nil || !strings.Contains(out, "targetNamespace: Required value") {
		t.Errorf("without a namespace: %s", out)
	}
	f.kubectl(t, nil, "delete", "cfb", "seven", "--timeout=3m")
	f.awaitMaps(t, "", ns, other)
}

// foobarNamespaceLater: a missing namespace of the ConfigMap is reported, and the ConfigMap is created once the namespace exists.
func foobarNamespaceLater(t *testing.T, f *foobars) {
	ns := f.namespace(t, "early")
	f.apply(t, ns, foobar("FooBar", "nine", "{target: a, targetNamespace: late}"))
	f.awaitEvent(t, ns, "nine", "ConfigMapFailed", "", `namespace late`)
	f.namespace(t, "late")
	f.awaitReady(t, ns, "nine", "late/a")
	f.kubectl(t, nil, "-n", ns, "delete", "foobar", "nine", "--timeout=3m")
	f.awaitMaps(t, "", "late")
}

func (f *foobars) awaitEvent(t *testing.T, ns, name, reason, path, says string) {
	t.Helper()
	await(t, "the event "+reason+" of "+ns+"/"+name, func() (bool, string) {
		list, err := f.typed.CoreV1().Events(ns).List(context.Background(), metav1.ListOptions{FieldSelector: "involvedObject.name=" + name})
		if err != nil {
			t.Fatal(err)
		}
		var seen []string
		for _, e := range list.Items {
			if e.Reason == reason && e.InvolvedObject.FieldPath == path && strings.Contains(e.Message, says) {
				return true, ""
			}
			seen = append(seen, e.Reason+" "+e.InvolvedObject.FieldPath+" "+e.Message)
		}
		return false, strings.Join(seen, "\n")
	})
}
