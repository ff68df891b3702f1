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

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	runtimeschema "k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"

	"stoic/cli/cluster"
	"stoic/examples/operators/mydeployment"
	"stoic/test/operator"
)

const (
	myDeploymentUser   = "system:serviceaccount:mydeployment-system:mydeployment-operator"
	myDeploymentDeploy = root + "/examples/operators/mydeployment/deploy"
	templateHash       = "apps.example.com/template-hash"
)

// myDeployments is a control plane with the operator of examples/operators/mydeployment, with its shipped permissions.
type myDeployments struct {
	*rig
	program string
}

// TestMyDeployment runs an operator of pods that uses only the engine. Simulated nodes run the pods.
func TestMyDeployment(t *testing.T) {
	t.Parallel() // it mostly waits
	m := &myDeployments{program: build(t, "./examples/operators/mydeployment/cmd", raceDetector()...)}
	m.rig = bareRig(t, cluster.Options{Strict: true, Users: map[string]string{"mydeployment": myDeploymentUser}, CRDs: []string{filepath.Join(root, "test/fixtures/mydeployments-open.yaml")}})
	m.kubectl(t, nil, "apply", "-f", myDeploymentDeploy+"/namespace.yaml", "-f", myDeploymentDeploy+"/rbac.yaml")
	m.namespace(t, "malformed")
	m.storeMalformed(t)
	m.redefine(t, myDeploymentDeploy+"/crd")
	p := m.alone(t)
	t.Run("scenarios", func(t *testing.T) {
		sideBySide(t, m, map[string]func(*testing.T, *myDeployments){
			"malformed":             myDeploymentMalformed,
			"rolled out":            myDeploymentRolledOut,
			"edited half way":       myDeploymentEditedHalfWay,
			"at every instant":      myDeploymentAtEveryInstant,
			"scaled":                myDeploymentScaled,
			"adopted":               myDeploymentAdopted,
			"foreign pods":          myDeploymentForeign,
			"failed":                myDeploymentFailed,
			"recreated":             myDeploymentRecreated,
			"template malformed":    myDeploymentTemplateMalformed,
			"deadline":              myDeploymentDeadline,
			"refused by the CRD":    myDeploymentRefused,
			"unknown field":         myDeploymentUnknownField,
			"overlapping":           myDeploymentOverlapping,
			"a billion":             myDeploymentHuge,
			"ready for long enough": myDeploymentMinReady,
		})
	})
	guards := []guard{{finalizersOf("apps.example.com", "mydeployments"), []string{myDeploymentUser}, "MyDeployment", func(t *testing.T, ns string) {
		m.apply(t, ns, myDeployment("guarded", "replicas: 1", "v1", ""))
	}}}
	t.Run("finalizers", func(t *testing.T) {
		finalizersAreGuarded(t, m.rig, "finalizers", guards, myDeploymentDeploy+"/rbac.yaml")
	})
	p.stop(t)
	t.Run("beside healthy pods", func(t *testing.T) { myDeploymentBesideHealthyPods(t, m) })
	m.begun(t, mydeployment.Watches(), "mydeployments", m.namespace(t, "begun"), "begun", myDeployment("begun", "replicas: 1", "v1", ""))
	t.Run("CRD recreated", func(t *testing.T) { myDeploymentCRDRecreated(t, m) })
	for _, q := range m.requestsOf(t, myDeploymentUser) {
		if q.ResponseStatus.Code == http.StatusForbidden && !strings.Contains(q.RequestURI, "/namespaces/huge/") && !q.guarded() {
			t.Errorf("forbidden: %s %s", q.Verb, q.RequestURI)
		}
		if q.Verb == "delete" && !strings.Contains(string(q.RequestObject), `"preconditions":{"uid":"`) {
			t.Errorf("a delete without precondition: %s", q.RequestURI)
		}
	}
	t.Run("each right is used", func(t *testing.T) { eachRightIsUsed(t, m.rig, guards, myDeploymentDeploy+"/rbac.yaml") })
}

func (m *myDeployments) start(t *testing.T, more ...string) *process {
	t.Helper()
	m.kubectl(t, nil, "-n", "mydeployment-system", "delete", "lease", "mydeployment-operator", "--ignore-not-found") // else it waits until that expires
	return m.asShipped(t, m.program, "mydeployment", myDeploymentDeploy+"/deployment.yaml", "mydeployment-operator", more...)
}

// alone starts an operator without leader election: a busy machine that loses a lease ends no scenario.
func (m *myDeployments) alone(t *testing.T) *process {
	t.Helper()
	return &process{operator.InTest(t, operator.Options{Command: []string{m.program, "--kubeconfig", "{kubeconfig}", "--metrics-bind-address", "{metrics}",
		"--health-probe-bind-address", "{probes}"}, Kubeconfig: m.cluster.UserKubeconfig("mydeployment")})}
}

// myDeployment returns a manifest; spec has further fields, and the template further fields of its pods.
func myDeployment(name, spec, image, pod string) string {
	return fmt.Sprintf(`
apiVersion: apps.example.com/v1
kind: MyDeployment
metadata: {name: %[1]s}
spec:
  %[2]s
  selector: {matchLabels: {app: %[1]s}}
  template:
    metadata: {labels: {app: %[1]s}, annotations: {simulation.stoic/terminate-after: 300ms}}
    spec:
      %[4]s
      containers: [{name: c, image: %[3]q}]
`, name, strings.ReplaceAll(spec, "\n", "\n  "), image, pod)
}

func (m *myDeployments) all(ns string) dynamic.ResourceInterface {
	return m.dynamic.Resource(runtimeschema.GroupVersionResource{Group: "apps.example.com", Version: "v1", Resource: "mydeployments"}).Namespace(ns)
}

// read returns a MyDeployment; nil if it does not exist.
func (m *myDeployments) read(t *testing.T, ns, name string) *unstructured.Unstructured {
	t.Helper()
	u, err := m.all(ns).Get(context.Background(), name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		t.Fatalf("get %s/%s: %v", ns, name, err)
	}
	return u
}

func (m *myDeployments) patch(t *testing.T, ns, name, patch string) {
	t.Helper()
	mergePatch(t, m.all(ns), name, patch)
}

// image changes the template.
func (m *myDeployments) image(t *testing.T, ns, name, image string) {
	t.Helper()
	m.patch(t, ns, name, fmt.Sprintf(`{"spec":{"template":{"spec":{"containers":[{"name":"c","image":%q}]}}}}`, image))
}

// of returns the pods that a MyDeployment controls, in the order of their names.
func (m *myDeployments) of(t *testing.T, ns string, owner types.UID) (found []corev1.Pod) {
	t.Helper()
	list, err := m.typed.CoreV1().Pods(ns).List(context.Background(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range list.Items {
		if o := metav1.GetControllerOfNoCopy(&p); o != nil && o.UID == owner {
			found = append(found, p)
		}
	}
	return found
}

// awaitComplete waits until the status of the current spec says so, and so many pods with that image exist and no others.
func (m *myDeployments) awaitComplete(t *testing.T, ns, name, image string, n int) []corev1.Pod {
	t.Helper()
	var pods []corev1.Pod
	await(t, fmt.Sprintf("%s/%s to be complete with %d pods of %s", ns, name, n, image), func() (bool, string) {
		u := m.read(t, ns, name)
		if u == nil {
			return false, "nothing"
		}
		says, message := condition(u, "Progressing")
		generation, _, _ := unstructured.NestedInt64(u.Object, "status", "observedGeneration")
		var saw []string
		pods = m.of(t, ns, u.GetUID())
		for _, p := range pods {
			saw = append(saw, fmt.Sprintf("%s %s %s deleting:%v", p.Name, p.Spec.Containers[0].Image, p.Status.Phase, p.DeletionTimestamp != nil))
		}
		wrong := slices.ContainsFunc(pods, func(p corev1.Pod) bool {
			return p.DeletionTimestamp != nil || p.Spec.Containers[0].Image != image || !isReady(&p) || p.Labels[templateHash] == ""
		})
		return says == "True Complete" && generation == u.GetGeneration() && len(pods) == n && !wrong, says + " " + message + "\n" + strings.Join(saw, "\n")
	})
	return pods
}

func isReady(p *corev1.Pod) bool {
	return slices.ContainsFunc(p.Status.Conditions, func(c corev1.PodCondition) bool { return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue })
}

func uids(pods []corev1.Pod) (all []string) {
	for _, p := range pods {
		all = append(all, string(p.UID))
	}
	slices.Sort(all)
	return all
}

// createdIn counts the operator's granted creations of pods.
func (m *myDeployments) createdIn(t *testing.T, ns string) (n int) {
	t.Helper()
	for _, q := range m.requestsOf(t, myDeploymentUser) {
		if q.Verb == "create" && q.ObjectRef.Resource == "pods" && q.ObjectRef.Namespace == ns && q.ResponseStatus.Code == http.StatusCreated {
			n++
		}
	}
	return n
}

// writesIn returns the operator's writes in a namespace without events, as "delete pods x".
func (m *myDeployments) writesIn(t *testing.T, ns string) (found []string) {
	t.Helper()
	for _, q := range m.requestsOf(t, myDeploymentUser) {
		if slices.Contains([]string{"create", "patch", "delete", "update"}, q.Verb) && q.ObjectRef.Namespace == ns && q.ObjectRef.Resource != "events" {
			found = append(found, q.Verb+" "+q.ObjectRef.Resource+" "+q.ObjectRef.Name)
		}
	}
	return found
}

// myDeploymentRolledOut: at no version of any pod are there more pods, or fewer available ones, than the strategy allows. An edit
// outside the template changes no pod.
func myDeploymentRolledOut(t *testing.T, m *myDeployments) {
	ns := m.namespace(t, "rolled")
	cases := map[string]func(*testing.T, *myDeployments){}
	for name, c := range map[string]struct {
		strategy    string
		most, least int
	}{
		"surge": {"{maxSurge: 1, maxUnavailable: 0}", 5, 4}, "fewer": {"{maxSurge: 0, maxUnavailable: 2}", 4, 2}, "both": {"{maxSurge: 50%, maxUnavailable: 25%}", 6, 3},
	} {
		cases[name] = func(t *testing.T, m *myDeployments) {
			m.apply(t, ns, myDeployment(name, "replicas: 4\nstrategy: "+c.strategy, "v1", ""))
			before := uids(m.awaitComplete(t, ns, name, "v1", 4))
			m.patch(t, ns, name, `{"spec":{"minReadySeconds":1,"progressDeadlineSeconds":60}}`)
			if after := uids(m.awaitComplete(t, ns, name, "v1", 4)); !slices.Equal(before, after) {
				t.Errorf("an edit beside the template changes pods: %v, then %v", before, after)
			}
			m.patch(t, ns, name, `{"spec":{"minReadySeconds":0}}`)
			m.awaitComplete(t, ns, name, "v1", 4)
			r := m.record(t, ns, name)
			m.image(t, ns, name, "v2")
			after := uids(m.awaitComplete(t, ns, name, "v2", 4))
			if slices.ContainsFunc(after, func(uid string) bool { return slices.Contains(before, uid) }) {
				t.Errorf("pods of the former template: %v, then %v", before, after)
			}
			most, least := r.bounds(t)
			if most > c.most || least < c.least {
				t.Errorf("there were up to %d pods, and down to %d available ones; want at most %d and at least %d", most, least, c.most, c.least)
			}
			t.Logf("up to %d pods of %d, down to %d available of %d", most, c.most, least, c.least)
		}
	}
	sideBySide(t, m, cases)
}

// myDeploymentEditedHalfWay: a pod that is not ready delays the roll-out; the next edit continues from there.
func myDeploymentEditedHalfWay(t *testing.T, m *myDeployments) {
	ns := m.namespace(t, "half-way")
	m.apply(t, ns, myDeployment("web", "replicas: 3\nstrategy: {maxSurge: 1, maxUnavailable: 0}", "v1", ""))
	before := uids(m.awaitComplete(t, ns, "web", "v1", 3))
	r := m.record(t, ns, "web")
	m.patch(t, ns, "web", `{"spec":{"template":{"spec":{"nodeSelector":{"no":"where"},"containers":[{"name":"c","image":"v2"}]}}}}`)
	await(t, "the first new pod", func() (bool, string) {
		pods := m.of(t, ns, m.read(t, ns, "web").GetUID())
		return len(pods) == 4, fmt.Sprint(len(pods))
	})
	m.patch(t, ns, "web", `{"spec":{"replicas":3,"progressDeadlineSeconds":700}}`) // another reconcile, and no other pod
	await(t, "the edit to be observed", func() (bool, string) {
		generation, _, _ := unstructured.NestedInt64(m.read(t, ns, "web").Object, "status", "observedGeneration")
		return generation == m.read(t, ns, "web").GetGeneration(), fmt.Sprint(generation)
	})
	left := 0
	for _, p := range m.of(t, ns, m.read(t, ns, "web").GetUID()) {
		if slices.Contains(before, string(p.UID)) && p.DeletionTimestamp == nil {
			left++
		}
	}
	if left != 3 {
		t.Errorf("%d pods of the former template are left while the new one is not ready", left)
	}
	m.patch(t, ns, "web", `{"spec":{"template":{"spec":{"nodeSelector":null,"containers":[{"name":"c","image":"v3"}]}}}}`)
	m.awaitComplete(t, ns, "web", "v3", 3)
	if most, least := r.bounds(t); most > 4 || least < 3 {
		t.Errorf("there were up to %d pods, and down to %d available ones", most, least)
	}
}

// myDeploymentScaled: by kubectl, to 0 and back; terminating pods count until they no longer exist.
func myDeploymentScaled(t *testing.T, m *myDeployments) {
	ns := m.namespace(t, "scaled")
	m.apply(t, ns, myDeployment("web", "replicas: 3\nstrategy: {maxSurge: 1}", "v1", ""))
	m.awaitComplete(t, ns, "web", "v1", 3)
	if got := m.kubectl(t, nil, "-n", ns, "get", "myd", "web", "--subresource=scale", "-o", "jsonpath={.status.replicas} {.status.selector}"); got != "3 app=web" {
		t.Errorf("the scale is %q", got)
	}
	r := m.record(t, ns, "web")
	m.kubectl(t, nil, "-n", ns, "scale", "myd", "web", "--replicas=0")
	m.kubectl(t, nil, "-n", ns, "scale", "myd", "web", "--replicas=3")
	m.awaitComplete(t, ns, "web", "v1", 3)
	if most, _ := r.bounds(t); most > 4 {
		t.Errorf("there were up to %d pods", most)
	}
	m.kubectl(t, nil, "-n", ns, "scale", "myd", "web", "--replicas=0")
	m.awaitComplete(t, ns, "web", "v1", 0)
	m.kubectl(t, nil, "-n", ns, "scale", "myd", "web", "--replicas=5")
	m.awaitComplete(t, ns, "web", "v1", 5)
	m.kubectl(t, nil, "-n", ns, "scale", "myd", "web", "--replicas=2")
	m.awaitComplete(t, ns, "web", "v1", 2)
}

// myDeploymentAdopted: orphans of a former object of the name are adopted, and none is created. A pod that loses its label is
// released and stays.
func myDeploymentAdopted(t *testing.T, m *myDeployments) {
	ns := m.namespace(t, "adopted")
	m.apply(t, ns, myDeployment("web", "replicas: 3", "v1", ""))
	before := uids(m.awaitComplete(t, ns, "web", "v1", 3))
	m.kubectl(t, nil, "-n", ns, "delete", "myd", "web", "--cascade=orphan")
	made := m.createdIn(t, ns)
	m.apply(t, ns, myDeployment("web", "replicas: 3", "v1", ""))
	pods := m.awaitComplete(t, ns, "web", "v1", 3)
	if after := uids(pods); !slices.Equal(before, after) || m.createdIn(t, ns) != made {
		t.Errorf("pods %v, then %v; %d more were created", before, after, m.createdIn(t, ns)-made)
	}
	m.kubectl(t, nil, "-n", ns, "label", "pod", pods[1].Name, "app=debug", "--overwrite")
	await(t, "the pod to be released", func() (bool, string) {
		p, err := m.typed.CoreV1().Pods(ns).Get(context.Background(), pods[1].Name, metav1.GetOptions{})
		return err == nil && len(p.OwnerReferences) == 0 && p.DeletionTimestamp == nil, fmt.Sprint(p.OwnerReferences, err)
	})
	m.awaitComplete(t, ns, "web", "v1", 3)
	p, err := m.typed.CoreV1().Pods(ns).Get(context.Background(), pods[1].Name, metav1.GetOptions{})
	if err != nil || p.UID != pods[1].UID || p.DeletionTimestamp != nil {
		t.Errorf("the released pod: %v", err)
	}
}

// myDeploymentForeign: foreign pods are never written, whatever their labels, and a name that one of them has is skipped.
func myDeploymentForeign(t *testing.T, m *myDeployments) {
	ns := m.namespace(t, "foreign")
	pod := func(name, app, owner string) string {
		return fmt.Sprintf("apiVersion: v1\nkind: Pod\nmetadata: {name: %s, labels: {app: %s}%s}\nspec: {containers: [{name: c, image: theirs}]}\n---\n", name, app, owner)
	}
	m.kubectl(t, nil, "-n", ns, "create", "configmap", "owner")
	uid := m.kubectl(t, nil, "-n", ns, "get", "configmap", "owner", "-o", "jsonpath={.metadata.uid}")
	m.apply(t, ns, pod("theirs", "web", ", ownerReferences: [{apiVersion: v1, kind: ConfigMap, name: owner, uid: "+uid+", controller: true}]")+pod("unlike", "other", ""))
	m.apply(t, ns, myDeployment("web", "replicas: 2", "v1", ""))
	first := m.awaitComplete(t, ns, "web", "v1", 2)[0].Name
	m.kubectl(t, nil, "-n", ns, "delete", "myd", "web", "--wait=true")
	await(t, "the end of its pods", func() (bool, string) {
		_, err := m.typed.CoreV1().Pods(ns).Get(context.Background(), first, metav1.GetOptions{})
		return apierrors.IsNotFound(err), fmt.Sprint(err)
	})
	m.apply(t, ns, pod(first, "unlike", "")) // the name of its first pod
	m.apply(t, ns, myDeployment("web", "replicas: 2", "v1", ""))
	m.awaitComplete(t, ns, "web", "v1", 2)
	for _, write := range m.writesIn(t, ns) {
		if strings.HasSuffix(write, " theirs") || strings.HasSuffix(write, " unlike") || write == "patch pods "+first {
			t.Errorf("a write to a pod of somebody else: %s", write)
		}
	}
	if got := m.kubectl(t, nil, "-n", ns, "get", "pod", first, "-o", "jsonpath={.spec.containers[0].image}{.metadata.ownerReferences}"); got != "theirs" {
		t.Errorf("the foreign pod is %q", got)
	}
}

// myDeploymentFailed: a failed pod is replaced immediately, the next one after ten seconds and no sooner.
func myDeploymentFailed(t *testing.T, m *myDeployments) {
	ns := m.namespace(t, "failed")
	m.apply(t, ns, myDeployment("web", "replicas: 2", "v1", ""))
	var replaced []time.Time // as the status says, in whole seconds
	for range 2 {
		pods := m.awaitComplete(t, ns, "web", "v1", 2)
		m.kubectl(t, nil, "-n", ns, "patch", "pod", pods[0].Name, "--subresource=status", "--type=merge", "-p", `{"status":{"phase":"Failed","conditions":[{"type":"Ready","status":"False"}]}}`)
		await(t, "the failed pod to go", func() (bool, string) {
			p, err := m.typed.CoreV1().Pods(ns).Get(context.Background(), pods[0].Name, metav1.GetOptions{})
			return apierrors.IsNotFound(err) || err == nil && p.UID != pods[0].UID, fmt.Sprint(p.Status.Phase, err)
		})
		text, _, _ := unstructured.NestedString(m.read(t, ns, "web").Object, "status", "lastReplacementTime")
		at, err := time.Parse(time.RFC3339, text)
		if err != nil {
			t.Fatal(err)
		}
		replaced = append(replaced, at)
	}
	m.awaitComplete(t, ns, "web", "v1", 2)
	if wait := replaced[1].Sub(replaced[0]); wait < 10*time.Second {
		t.Errorf("the second one was replaced after %s", wait)
	}
	if failures, _, _ := unstructured.NestedInt64(m.read(t, ns, "web").Object, "status", "failures"); failures != 2 {
		t.Errorf("%d failures on record", failures)
	}
}

// myDeploymentRecreated: it is deleted and recreated under the same name while the pods of the first one are terminating: the
// second has exactly its number of pods.
func myDeploymentRecreated(t *testing.T, m *myDeployments) {
	ns := m.namespace(t, "recreated")
	manifest := strings.ReplaceAll(myDeployment("web", "replicas: 3", "v1", ""), "300ms", "3s")
	m.apply(t, ns, manifest)
	before := uids(m.awaitComplete(t, ns, "web", "v1", 3))
	m.kubectl(t, nil, "-n", ns, "delete", "myd", "web")
	m.apply(t, ns, manifest)
	after := uids(m.awaitComplete(t, ns, "web", "v1", 3))
	if slices.ContainsFunc(after, func(uid string) bool { return slices.Contains(before, uid) }) {
		t.Errorf("pods of the former object: %v, then %v", before, after)
	}
	if made := m.createdIn(t, ns); made != 6 {
		t.Errorf("%d pods were created, want 6", made)
	}
}

// myDeploymentDeadline: a roll-out without progress reports it, and continues when it can.
func myDeploymentDeadline(t *testing.T, m *myDeployments) {
	ns := m.namespace(t, "deadline")
	m.apply(t, ns, myDeployment("web", "replicas: 1\nprogressDeadlineSeconds: 2", "v1", "schedulingGates: [{name: example.com/wait}]"))
	await(t, "the deadline", func() (bool, string) {
		says, message := condition(m.read(t, ns, "web"), "Progressing")
		return says == "False ProgressDeadlineExceeded", says + " " + message
	})
	pods := m.of(t, ns, m.read(t, ns, "web").GetUID())
	if len(pods) != 1 || pods[0].DeletionTimestamp != nil {
		t.Fatalf("%d pods", len(pods))
	}
	m.kubectl(t, nil, "-n", ns, "patch", "pod", pods[0].Name, "--type=json", "-p", `[{"op":"remove","path":"/spec/schedulingGates"}]`)
	m.awaitComplete(t, ns, "web", "v1", 1)
}

// myDeploymentMinReady: a pod becomes available when it has been ready for long enough.
func myDeploymentMinReady(t *testing.T, m *myDeployments) {
	ns := m.namespace(t, "min-ready")
	m.apply(t, ns, myDeployment("web", "replicas: 1\nminReadySeconds: 3", "v1", ""))
	pods := m.awaitComplete(t, ns, "web", "v1", 1)
	available := m.read(t, ns, "web")
	conditions, _, _ := unstructured.NestedSlice(available.Object, "status", "conditions")
	for _, raw := range conditions {
		c, _ := raw.(map[string]any)
		at, err := time.Parse(time.RFC3339, fmt.Sprint(c["lastTransitionTime"]))
		if c["type"] == "Available" && (err != nil || at.Sub(pods[0].Status.Conditions[0].LastTransitionTime.Time) < 3*time.Second) {
			t.Errorf("available at %s, ready since %s", at, pods[0].Status.Conditions[0].LastTransitionTime)
		}
	}
}

// myDeploymentUnknownField: an unknown field reaches the pod's creation unchanged; the API server rejects or drops it there, and
// stores the object.
func myDeploymentUnknownField(t *testing.T, m *myDeployments) {
	ns := m.namespace(t, "unknown-field")
	m.kubectl(t, []byte(myDeployment("web", "replicas: 1", "v1", "younger: {than: this}")), "-n", ns, "apply", "--validate=false", "-f", "-")
	m.awaitComplete(t, ns, "web", "v1", 1)
	for _, q := range m.requestsOf(t, myDeploymentUser) {
		if q.Verb == "create" && q.ObjectRef.Resource == "pods" && q.ObjectRef.Namespace == ns {
			if stored, _, _ := unstructured.NestedString(m.read(t, ns, "web").Object, "spec", "template", "spec", "younger", "than"); stored != "this" {
				t.Errorf("the CRD does not keep the field: %q", stored)
			}
			return
		}
	}
	t.Error("no pod was created")
}

// myDeploymentOverlapping: two that select the same pods keep to their own, and the older one adopts an orphan.
func myDeploymentOverlapping(t *testing.T, m *myDeployments) {
	ns := m.namespace(t, "overlapping")
	same := func(name string) string {
		return strings.ReplaceAll(myDeployment(name, "replicas: 2\nstrategy: {maxSurge: 1}", "v1", ""), "app: "+name, "app: shared")
	}
	m.apply(t, ns, same("z-older"))
	m.awaitComplete(t, ns, "z-older", "v1", 2)
	born := m.read(t, ns, "z-older").GetCreationTimestamp()
	await(t, "another second, which is how exact creation times are", func() (bool, string) { return time.Since(born.Time) > 1100*time.Millisecond, born.String() })
	m.apply(t, ns, same("a-younger"))
	m.awaitComplete(t, ns, "a-younger", "v1", 2)
	changes, err := m.typed.CoreV1().Pods(ns).Watch(context.Background(), metav1.ListOptions{FieldSelector: "metadata.name=orphan"})
	if err != nil {
		t.Fatal(err)
	}
	defer changes.Stop()
	m.apply(t, ns, "apiVersion: v1\nkind: Pod\nmetadata: {name: orphan, labels: {app: shared}}\nspec: {containers: [{name: c, image: theirs}]}\n")
	owners := map[string]bool{}
	for gone := false; !gone; { // it is adopted, and deleted as one too many
		select {
		case e := <-changes.ResultChan():
			p, ok := e.Object.(*corev1.Pod)
			if !ok {
				t.Fatalf("%s %v", e.Type, e.Object)
			}
			if o := metav1.GetControllerOfNoCopy(p); o != nil {
				owners[o.Name] = true
			}
			gone = e.Type == watch.Deleted
		case <-time.After(patience):
			t.Fatalf("the orphan is left, and has had the owners %v", owners)
		}
	}
	if !owners["z-older"] || len(owners) != 1 {
		t.Errorf("the orphan has had the owners %v", owners)
	}
	m.awaitComplete(t, ns, "z-older", "v1", 2)
	m.awaitComplete(t, ns, "a-younger", "v1", 2)
}

// myDeploymentHuge: a billion replicas are created some at a time; the quota ends it, and the condition reports it.
func myDeploymentHuge(t *testing.T, m *myDeployments) {
	ns := m.namespace(t, "huge")
	m.apply(t, ns, "apiVersion: v1\nkind: ResourceQuota\nmetadata: {name: q}\nspec: {hard: {pods: 40}}\n")
	await(t, "the quota", func() (bool, string) {
		got := m.kubectl(t, nil, "-n", ns, "get", "resourcequota", "q", "-o", "jsonpath={.status.hard.pods}")
		return got == "40", got
	})
	m.apply(t, ns, myDeployment("web", "replicas: 1000000000\nstrategy: {maxSurge: 9999%}", "v1", ""))
	await(t, "the refusal in the condition", func() (bool, string) {
		_, message := condition(m.read(t, ns, "web"), "Progressing")
		return strings.Contains(message, "exceeded quota"), message
	})
	m.kubectl(t, nil, "-n", ns, "scale", "myd", "web", "--replicas=1")
	m.awaitComplete(t, ns, "web", "v1", 1)
}

// myDeploymentRefused: what the CRD rejects.
func myDeploymentRefused(t *testing.T, m *myDeployments) {
	ns := m.namespace(t, "refused")
	for _, c := range []struct{ manifest, want string }{
		{myDeployment("web", "strategy: {maxSurge: 0, maxUnavailable: 0%}", "v1", ""), "cannot both be zero"},
		{myDeployment("web", "strategy: {maxSurge: -1}", "v1", ""), "must not be negative"},
		{myDeployment("web", "strategy: {maxSurge: many}", "v1", ""), "maxSurge"},
		{myDeployment("web", "replicas: -1", "v1", ""), "spec.replicas"},
		{myDeployment("web", "minReadySeconds: 600", "v1", ""), "progressDeadlineSeconds must be greater"},
	} {
		if out, err := m.tryKubectl([]byte(c.manifest), "-n", ns, "apply", "-f", "-"); err == nil || !strings.Contains(out+err.Error(), c.want) {
			t.Errorf("want %q, got %s %v", c.want, out, err)
		}
	}
	m.apply(t, ns, myDeployment("web", "replicas: 1", "v1", ""))
	if out, err := m.tryKubectl(nil, "-n", ns, "patch", "myd", "web", "--type=merge", "-p", `{"spec":{"selector":{"matchLabels":{"app":"x"}}}}`); err == nil || !strings.Contains(out+err.Error(), "immutable") {
		t.Errorf("another selector: %s %v", out, err)
	}
	m.awaitComplete(t, ns, "web", "v1", 1)
}

// myDeploymentBesideHealthyPods: an operator that starts when healthy pods exist creates none, and deletes none.
func myDeploymentBesideHealthyPods(t *testing.T, m *myDeployments) {
	ns := m.namespace(t, "healthy")
	p := m.start(t, "--namespace", ns)
	m.apply(t, ns, myDeployment("web", "replicas: 4", "v1", ""))
	before := uids(m.awaitComplete(t, ns, "web", "v1", 4))
	p.kill(t)
	m.kubectl(t, nil, "-n", ns, "patch", "myd", "web", "--subresource=status", "--type=merge", "-p", `{"status":null}`)
	writes := len(m.writesIn(t, ns))
	p = m.start(t, "--namespace", ns)
	if after := uids(m.awaitComplete(t, ns, "web", "v1", 4)); !slices.Equal(before, after) {
		t.Errorf("pods %v, then %v", before, after)
	}
	for _, write := range m.writesIn(t, ns)[writes:] {
		if write != "patch mydeployments web" {
			t.Errorf("a write beside healthy pods: %s", write)
		}
	}
	p.stop(t)
}

// myDeploymentCRDRecreated: the CRD is deleted with all objects and their pods, and recreated, for a running process and for one
// that starts before it.
func myDeploymentCRDRecreated(t *testing.T, m *myDeployments) {
	ns := m.namespace(t, "again")
	p := m.start(t)
	m.apply(t, ns, myDeployment("web", "replicas: 2", "v1", ""))
	m.awaitComplete(t, ns, "web", "v1", 2)
	m.undefine(t, myDeploymentDeploy+"/crd")
	await(t, "the end of the pods", func() (bool, string) {
		list, err := m.typed.CoreV1().Pods(ns).List(context.Background(), metav1.ListOptions{})
		return err == nil && len(list.Items) == 0, fmt.Sprint(len(list.Items), err)
	})
	m.define(t, myDeploymentDeploy+"/crd")
	serves := func() {
		await(t, "the MyDeployment to be taken", func() (bool, string) {
			out, err := m.tryKubectl([]byte(myDeployment("web", "replicas: 2", "v1", "")), "-n", ns, "apply", "-f", "-")
			return err == nil, out
		})
		m.awaitComplete(t, ns, "web", "v1", 2)
	}
	serves()
	m.beforeItsCRD(t, p, func() *process { return m.start(t) }, myDeploymentDeploy+"/crd", []string{"MyDeployment"}, serves)
}
