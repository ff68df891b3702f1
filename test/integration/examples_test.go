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

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	runtimeschema "k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/yaml"

	"stoic/cli/cluster"
	"stoic/test/operator"
)

// installed is an example operator on a control plane, installed as its README says.
type installed struct {
	*rig
	example
	program string
}

// TestFooBar holds FooBar to what docs/authors.md promises of every operator on the engine: malformed objects that were there before
// it are reported and disturb no others, a repaired one is served, dependents are created, changed and deleted, and a crash between
// two writes changes nothing about the end. It has its shipped permissions and no others, and uses all of them.
func TestFooBar(t *testing.T) {
	quick(t)
	t.Parallel() // it mostly waits
	r := examplesRig(t, fooBarExample())
	i := installedOn(t, r, fooBarExample())
	t.Run("smoke", i.smoke)
	t.Run("FooBar in another namespace", i.fooBarElsewhere)
	t.Run("rights", i.rightsAreUsed)
}

// TestExamples holds the other operators of examples/operators to the same.
func TestExamples(t *testing.T) {
	full(t)
	t.Parallel() // it mostly waits
	all := []example{fooExample(), fooBarSetExample(), cronTabExample(), myDeploymentExample()}
	r := examplesRig(t, all...)
	cases := map[string]func(*testing.T, *rig){}
	for _, e := range all {
		cases[e.kind] = func(t *testing.T, r *rig) { installedOn(t, r, e).smoke(t) }
	}
	t.Run("smoke", func(t *testing.T) { sideBySide(t, r, cases) })
	t.Run("MyDeployment adopts pods", installedOn(t, r, myDeploymentExample()).myDeploymentAdopts)
	for _, e := range all {
		t.Run("rights of "+e.kind, installedOn(t, r, e).rightsAreUsed)
	}
}

// examplesRig starts a control plane with open CRDs, on which each example has the rights of its service account.
func examplesRig(t *testing.T, all ...example) *rig {
	t.Helper()
	options := cluster.Options{Nodes: 1, Strict: true, Users: map[string]string{}}
	for _, e := range all {
		options.Users[e.folder] = e.user()
		for _, crd := range e.crds {
			options.CRDs = append(options.CRDs, filepath.Join(root, "test/fixtures", crd))
		}
	}
	return bareRig(t, options)
}

func installedOn(t *testing.T, r *rig, e example) *installed {
	t.Helper()
	return &installed{r, e, build(t, "./examples/operators/"+e.folder+"/cmd", r.flags...)}
}

// smoke goes through the life of an operator and its objects.
func (i *installed) smoke(t *testing.T) {
	bad := i.namespace(t, i.folder+"-malformed")
	i.storeMalformed(t, bad)
	i.kubectl(t, nil, "apply", "--server-side", "--force-conflicts", "-k", i.deploy())
	p := i.start(t)
	i.malformedAreReported(t, bad)
	i.repairedIsServed(t, bad)

	ns := i.namespace(t, i.folder)
	i.create(t, ns, "web")
	i.awaitDependents(t, ns, i.created)
	i.awaitReady(t, ns, "web")
	i.isRefusedByCRD(t, ns)
	i.labelIsRestored(t, ns)
	i.crashedBetweenWrites(t, ns, p)

	i.kubectl(t, nil, "-n", ns, "delete", i.resource.Resource, "web", "--timeout=3m")
	i.awaitDependents(t, ns, nil)
	p = i.start(t)
	i.awaitIdle(t, p)
	p.stop(t)
}

// start starts a process with the arguments of the installed Deployment. It does not wait for the lease of one that was killed.
func (i *installed) start(t *testing.T, more ...string) *process {
	t.Helper()
	d, err := i.typed.AppsV1().Deployments(i.home).Get(t.Context(), i.account, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	leases, err := i.typed.CoordinationV1().Leases(d.Namespace).List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, lease := range leases.Items {
		if strings.HasPrefix(lease.Name, i.account) {
			i.kubectl(t, nil, "-n", d.Namespace, "delete", "lease", lease.Name, "--ignore-not-found")
		}
	}
	command := []string{i.program, "--kubeconfig", "{kubeconfig}", "--metrics-bind-address", "{metrics}", "--health-probe-bind-address", "{probes}",
		"--leader-election-namespace", d.Namespace} // in a pod it is in the environment
	command = append(command, d.Spec.Template.Spec.Containers[0].Args...)
	return &process{operator.InTest(t, operator.Options{Command: append(command, "{flags}"), Kubeconfig: i.cluster.UserKubeconfig(i.folder), Flags: more})}
}

func (i *installed) all(ns string) dynamic.ResourceInterface {
	return i.dynamic.Resource(i.resource).Namespace(ns)
}

func (i *installed) get(t *testing.T, ns, name string) *unstructured.Unstructured {
	t.Helper()
	u, err := i.all(ns).Get(t.Context(), name, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return u
}

// create creates a well-formed object.
func (i *installed) create(t *testing.T, ns, name string) {
	t.Helper()
	i.apply(t, ns, i.sound(name))
	if i.status != "" {
		mergePatch(t, i.all(ns), name, i.status, "status")
	}
}

// oddStatuses returns statuses that an open schema accepts.
func oddStatuses() []string {
	return []string{`7`, `"text"`, `[1]`, `{"conditions":"none"}`, `{"conditions":[1,null,{"type":"Ready"}]}`, `{"observedGeneration":"many"}`,
		`{"conditions":[{"type":"Odd","status":"Perhaps","reason":"","message":3}]}`}
}

// storeMalformed stores malformed objects under a schema that accepts everything, each with a malformed status, and a well-formed
// one beside each.
func (i *installed) storeMalformed(t *testing.T, ns string) {
	t.Helper()
	for _, crd := range i.crds {
		i.removeScale(t, definitionsIn(t, filepath.Join(root, "test/fixtures", crd))[0].GetName())
	}
	for n, m := range i.malformed {
		status := `{"status":` + oddStatuses()[n%len(oddStatuses())] + `}`
		await(t, m.name+" to be stored", func() (bool, string) { // the API server may still know the scale
			out, err := i.tryKubectl([]byte(i.manifest(m.name, m.spec)), "-n", ns, "create", "-f", "-")
			return err == nil, out
		})
		mergePatch(t, i.all(ns), m.name, status, "status")
		if n < len(oddStatuses()) {
			i.apply(t, ns, i.sound(fmt.Sprintf("sound-%d", n)))
			mergePatch(t, i.all(ns), fmt.Sprintf("sound-%d", n), status, "status")
		}
	}
}

// malformedAreReported: each has its event and its condition with the exact path; the well-formed ones are served, and only these
// have dependents.
func (i *installed) malformedAreReported(t *testing.T, ns string) {
	t.Helper()
	for n := range min(len(i.malformed), len(oddStatuses())) {
		if i.status != "" {
			mergePatch(t, i.all(ns), fmt.Sprintf("sound-%d", n), i.status, "status")
		}
		i.awaitReady(t, ns, fmt.Sprintf("sound-%d", n))
	}
	for _, m := range i.malformed {
		i.reportedEvent(t, ns, m.name, i.example.kind+"FailedValidation", m.path, m.path+": ")
		await(t, m.name+" to be rejected", func() (bool, string) {
			says, message := condition(i.get(t, ns, m.name), "Stalled")
			return says == "True InvalidSpec" && strings.Contains(message, m.path+": "), says + ": " + message
		})
	}
	list, err := i.dynamic.Resource(i.dependents).Namespace(ns).List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, u := range list.Items {
		if owner := metav1.GetControllerOf(&u); owner != nil && owner.Kind == i.example.kind && !strings.HasPrefix(owner.Name, "sound-") {
			t.Errorf("the malformed %s has %s", owner.Name, u.GetName())
		}
	}
}

// repairedIsServed: a malformed object is served as soon as its spec is right.
func (i *installed) repairedIsServed(t *testing.T, ns string) {
	t.Helper()
	name := i.malformed[0].name
	repaired := i.get(t, ns, name)
	var sound map[string]any
	if err := yaml.Unmarshal([]byte(i.sound(name)), &sound); err != nil {
		t.Fatal(err)
	}
	repaired.Object["spec"] = sound["spec"]
	if _, err := i.all(ns).Update(t.Context(), repaired, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	if i.status != "" {
		mergePatch(t, i.all(ns), name, i.status, "status")
	}
	i.awaitReady(t, ns, name)
}

// awaitReady waits until the status of an object is about its current spec, and says that all is well.
func (i *installed) awaitReady(t *testing.T, ns, name string) {
	t.Helper()
	of, want, _ := strings.Cut(i.ready, " ")
	await(t, ns+"/"+name+" to be "+i.ready, func() (bool, string) {
		u := i.get(t, ns, name)
		says, message := condition(u, of)
		generation, _, _ := unstructured.NestedInt64(u.Object, "status", "observedGeneration")
		return says == want && generation == u.GetGeneration(), says + ": " + message
	})
}

// awaitDependents waits until these dependents are in a namespace, and no others but those that are being deleted.
func (i *installed) awaitDependents(t *testing.T, ns string, want []string) {
	t.Helper()
	await(t, fmt.Sprintf("the dependents %v", want), func() (bool, string) {
		found := i.dependentsIn(t, ns)
		return slices.Equal(found, want), fmt.Sprint(found)
	})
}

// dependentsIn returns what is to be seen of the dependents in a namespace, sorted.
func (i *installed) dependentsIn(t *testing.T, ns string) (found []string) {
	t.Helper()
	list, err := i.dynamic.Resource(i.dependents).Namespace(ns).List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, u := range list.Items {
		if u.GetDeletionTimestamp() == nil && u.GetName() != "kube-root-ca.crt" {
			found = append(found, i.show(&u))
		}
	}
	slices.Sort(found)
	return found
}

// isRefusedByCRD: the shipped CRD refuses what the operator would reject.
func (i *installed) isRefusedByCRD(t *testing.T, ns string) {
	t.Helper()
	m := i.malformed[0]
	if out, err := i.tryKubectl([]byte(i.manifest("refused", m.spec)), "-n", ns, "create", "-f", "-"); err == nil || !strings.Contains(out, "spec.") {
		t.Errorf("the CRD accepts %s: %s", m.name, out)
	}
}

// labelIsRestored: a dependent that has lost its label is not in the cache any more. It is read from the API server, and gets the
// label again.
func (i *installed) labelIsRestored(t *testing.T, ns string) {
	t.Helper()
	if i.label == "" {
		return
	}
	for _, of := range append([]runtimeschema.GroupVersionResource{i.dependents}, i.below...) {
		dependents := i.dynamic.Resource(of).Namespace(ns)
		list, err := dependents.List(t.Context(), metav1.ListOptions{LabelSelector: i.label})
		if err != nil || len(list.Items) == 0 {
			t.Fatalf("no %s with the label %s: %v", of.Resource, i.label, err)
		}
		name := list.Items[0].GetName()
		mergePatch(t, dependents, name, `{"metadata":{"labels":{"`+i.label+`":null}}}`)
		await(t, "the label of "+name, func() (bool, string) {
			u, err := dependents.Get(t.Context(), name, metav1.GetOptions{})
			return err == nil && u.GetUID() == list.Items[0].GetUID() && u.GetLabels()[i.label] != "", fmt.Sprint(err)
		})
	}
}

// crashedBetweenWrites: the second write of a change is refused, and the operator is killed then. The next process completes the
// change, and creates nothing twice.
func (i *installed) crashedBetweenWrites(t *testing.T, ns string, p *process) {
	t.Helper()
	before := i.dependentsMade(t, ns)
	allow := i.deny(t, ns)
	mergePatch(t, i.all(ns), "web", i.change)
	await(t, "a refused "+i.stop, func() (bool, string) {
		refused := slices.ContainsFunc(i.requestsOf(t, i.user()), func(q audited) bool {
			return q.ObjectRef.Namespace == ns && q.Verb == i.stop && strings.Contains(q.ResponseStatus.Message, heldUp)
		})
		return refused, fmt.Sprint(i.dependentsIn(t, ns))
	})
	p.kill(t)
	allow()
	next := i.start(t, "--namespace", ns)
	i.awaitDependents(t, ns, i.changed)
	i.awaitReady(t, ns, "web")
	if made := i.dependentsMade(t, ns) - before; made != len(i.changed) {
		t.Errorf("%d dependents were made, want %d", made, len(i.changed))
	}
	next.stop(t)
}

// dependentsMade counts the dependents that the operator has created in a namespace.
func (i *installed) dependentsMade(t *testing.T, ns string) (n int) {
	t.Helper()
	for _, q := range i.requestsOf(t, i.user()) {
		if q.Verb == "create" && q.ObjectRef.Resource == i.dependents.Resource && q.ObjectRef.Namespace == ns && q.ResponseStatus.Code == http.StatusCreated {
			n++
		}
	}
	return n
}

// heldUp is the API server's message about a write that deny refuses.
const heldUp = "held up by the test"

// deny refuses the write of the operator that the example names, in one namespace, until it is allowed again.
func (i *installed) deny(t *testing.T, ns string) (allow func()) {
	t.Helper()
	operation := map[string]string{"delete": "DELETE", "patch": "UPDATE"}[i.stop]
	name := "hold-" + i.folder
	i.kubectl(t, []byte(`
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: `+name+`}
spec:
  failurePolicy: Fail
  matchConstraints:
    namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: `+ns+`}}
    resourceRules: [{apiGroups: ["`+i.dependents.Group+`"], apiVersions: [`+i.dependents.Version+`], operations: [`+operation+`], resources: [`+i.dependents.Resource+`]}]
  validations: [{expression: "request.userInfo.username != '`+i.user()+`'", message: "`+heldUp+`"}]
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: `+name+`}
spec: {policyName: `+name+`, validationActions: [Deny]}
`), "create", "-f", "-")
	await(t, "the policy to hold", func() (bool, string) {
		err := i.attempt(t, ns)
		return err != nil && strings.Contains(err.Error(), heldUp), fmt.Sprint(err)
	})
	return func() {
		i.kubectl(t, nil, "delete", "validatingadmissionpolicybinding/"+name, "validatingadmissionpolicy/"+name)
		await(t, "the policy to be lifted", func() (bool, string) {
			err := i.attempt(t, ns)
			return err == nil, fmt.Sprint(err)
		})
	}
}

// attempt tries, as the operator and without effect, the write that deny refuses.
func (i *installed) attempt(t *testing.T, ns string) error {
	t.Helper()
	config := rest.CopyConfig(i.config)
	config.Impersonate.UserName = i.user()
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	list, err := i.dynamic.Resource(i.dependents).Namespace(ns).List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, u := range list.Items {
		if metav1.GetControllerOf(&u) == nil {
			continue
		}
		of := client.Resource(i.dependents).Namespace(ns)
		if i.stop == "delete" {
			return of.Delete(t.Context(), u.GetName(), metav1.DeleteOptions{DryRun: []string{metav1.DryRunAll}})
		}
		_, err := of.Patch(t.Context(), u.GetName(), types.MergePatchType, []byte(`{"metadata":{"labels":{"a":"b"}}}`), metav1.PatchOptions{DryRun: []string{metav1.DryRunAll}})
		return err
	}
	return fmt.Errorf("nothing to %s in %s", i.stop, ns)
}

// awaitIdle: an operator that has nothing to do sends requests only about its lease, and now and then whether the API server
// still serves its resources.
func (i *installed) awaitIdle(t *testing.T, p *process) {
	t.Helper()
	await(t, "all keys and events to be worked off", func() (bool, string) {
		keys, _ := p.metric(t, "workqueue_depth")
		busy, _ := p.metric(t, "workqueue_unfinished_work_seconds")
		events, _ := p.metric(t, i.prefix+"_events_backlog")
		return keys+busy+events == 0, fmt.Sprintf("%v keys, %v busy, %v events", keys, busy, events)
	})
	const quiet = 2 * time.Second
	began, seen := time.Now(), len(i.otherRequests(t))
	await(t, "an idle operator to send nothing", func() (bool, string) {
		others := i.otherRequests(t)
		if len(others) > seen { // the last of them; rejected writes are retried more and more rarely
			began, seen = time.Now(), len(others)
		}
		return time.Since(began) > quiet, strings.Join(others[max(0, len(others)-5):], "\n")
	})
}

// otherRequests returns the requests of the operator but those that it always sends.
func (i *installed) otherRequests(t *testing.T) (others []string) {
	t.Helper()
	for _, q := range i.requestsOf(t, i.user()) {
		isDiscovery := q.Verb == "get" && q.ObjectRef.Resource == ""
		if q.ObjectRef.Resource != "leases" && q.Verb != "watch" && !isDiscovery {
			others = append(others, q.Verb+" "+q.RequestURI)
		}
	}
	return others
}

// rightsAreUsed: nothing was forbidden, and every right that the operator has was used, or is one of unused. The API server checks the right to
// finalizers of an owner without a trace in the audit log: without it, no dependent could be made (Strict).
func (i *installed) rightsAreUsed(t *testing.T) {
	t.Helper()
	used := map[right]bool{}
	for _, q := range i.requestsOf(t, i.user()) {
		if q.ResponseStatus.Code == http.StatusForbidden {
			if !strings.Contains(q.ResponseStatus.Message, heldUp) {
				t.Errorf("forbidden: %s %s", q.Verb, q.RequestURI)
			}
			continue
		}
		resource := strings.TrimSuffix(q.ObjectRef.Resource+"/"+q.ObjectRef.Subresource, "/")
		used[right{q.Verb, q.ObjectRef.APIGroup, resource}] = true
	}
	for _, one := range i.rights(t) {
		if !used[one] && i.unused[one] == "" && !strings.HasSuffix(one.resource, "/finalizers") {
			t.Errorf("the right to %s was never used", one)
		}
	}
}

// rights returns what the roles that are bound to the account allow.
func (i *installed) rights(t *testing.T) (all []right) {
	t.Helper()
	isOurs := func(subjects []rbacv1.Subject) bool {
		return slices.ContainsFunc(subjects, func(s rbacv1.Subject) bool { return s.Name == i.account && s.Namespace == i.home })
	}
	var rules []rbacv1.PolicyRule
	ctx := context.Background()
	wide, err := i.typed.RbacV1().ClusterRoleBindings().List(ctx, metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, binding := range wide.Items {
		if !isOurs(binding.Subjects) {
			continue
		}
		role, err := i.typed.RbacV1().ClusterRoles().Get(ctx, binding.RoleRef.Name, metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		rules = append(rules, role.Rules...)
	}
	narrow, err := i.typed.RbacV1().RoleBindings("").List(ctx, metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, binding := range narrow.Items {
		if !isOurs(binding.Subjects) {
			continue
		}
		role, err := i.typed.RbacV1().Roles(binding.Namespace).Get(ctx, binding.RoleRef.Name, metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		rules = append(rules, role.Rules...)
	}
	for _, rule := range rules {
		for _, resource := range rule.Resources {
			for _, verb := range rule.Verbs {
				all = append(all, right{verb, rule.APIGroups[0], resource})
			}
		}
	}
	if len(all) == 0 {
		t.Errorf("%s has no rights", i.account)
	}
	return all
}

// fooBarElsewhere: a ConfigMap in another namespace, which no owner reference reaches, is guarded by a finalizer that is there
// before it, and is deleted with its FooBar. A ConfigMap of others stays, and there is an event about it.
func (i *installed) fooBarElsewhere(t *testing.T) {
	ns, other := i.namespace(t, "here"), i.namespace(t, "there")
	p := i.start(t, "--namespace", ns)
	i.apply(t, ns, i.manifest("web", "{target: a, targetNamespace: there}"))
	i.awaitDependents(t, other, []string{"a"})
	i.awaitReady(t, ns, "web")
	guarded, made := -1, -1
	for n, q := range i.requestsOf(t, i.user()) {
		switch {
		case q.Verb == "patch" && q.ObjectRef.Namespace == ns && q.ObjectRef.Resource == "foobars" && q.ObjectRef.Subresource == "" && guarded < 0:
			guarded = n
		case q.Verb == "create" && q.ObjectRef.Resource == "configmaps" && q.ObjectRef.Namespace == other && made < 0:
			made = n
		}
	}
	if guarded < 0 || made < guarded {
		t.Errorf("the finalizer is request %d, the ConfigMap is request %d", guarded, made)
	}
	i.kubectl(t, nil, "-n", other, "create", "configmap", "taken")
	mergePatch(t, i.all(ns), "web", `{"spec":{"target":"taken"}}`)
	i.reportedEvent(t, ns, "web", "NameConflict", "", "ConfigMap there/taken already exists and is not managed by FooBar web;")
	i.awaitDependents(t, other, []string{"a", "taken"})
	i.apply(t, "", "apiVersion: test.example.com/v1alpha1\nkind: ClusterFooBar\nmetadata: {name: wide}\nspec: {target: b, targetNamespace: there}\n")
	wide := i.start(t)
	i.awaitDependents(t, other, []string{"a", "b", "taken"})
	i.kubectl(t, nil, "delete", "clusterfoobar", "wide", "--timeout=3m")
	wide.stop(t)
	i.kubectl(t, nil, "-n", ns, "delete", "foobar", "web", "--timeout=3m")
	i.awaitDependents(t, other, []string{"taken"})
	p.stop(t)
}

// myDeploymentAdopts: pods that a deleted MyDeployment has left behind are adopted by the next one of the same selector, and none
// is created. A pod that loses its label is released and replaced; the pod of another owner is not touched.
func (i *installed) myDeploymentAdopts(t *testing.T) {
	ns := i.namespace(t, "adopted")
	p := i.start(t, "--namespace", ns)
	i.create(t, ns, "web")
	i.awaitReady(t, ns, "web")
	i.awaitDependents(t, ns, i.created)
	i.kubectl(t, nil, "-n", ns, "delete", "mydeployment", "web", "--cascade=orphan")
	made := i.dependentsMade(t, ns)
	i.create(t, ns, "web")
	i.awaitReady(t, ns, "web")
	if again := i.dependentsMade(t, ns); again != made {
		t.Errorf("%d pods were created beside those that were there", again-made)
	}
	pods, err := i.typed.CoreV1().Pods(ns).List(t.Context(), metav1.ListOptions{})
	if err != nil || len(pods.Items) != 2 {
		t.Fatalf("%d pods, %v", len(pods.Items), err)
	}
	debugged := pods.Items[0].Name
	i.kubectl(t, nil, "-n", ns, "label", "pod", debugged, "app=debug", "--overwrite")
	await(t, "the pod to be released", func() (bool, string) {
		pod, err := i.typed.CoreV1().Pods(ns).Get(t.Context(), debugged, metav1.GetOptions{})
		return err == nil && metav1.GetControllerOf(pod) == nil && pod.DeletionTimestamp == nil, fmt.Sprint(err)
	})
	i.awaitDependents(t, ns, []string{"v1", "v1", "v1"})
	i.awaitReady(t, ns, "web")
	i.kubectl(t, nil, "-n", ns, "delete", "mydeployment", "web", "--timeout=3m")
	i.awaitDependents(t, ns, []string{"v1"})
	p.stop(t)
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

// reportedEvent waits for an event about an object.
func (r *rig) reportedEvent(t *testing.T, ns, name, reason, path, says string) {
	t.Helper()
	await(t, "the event "+reason+" of "+ns+"/"+name, func() (bool, string) {
		list, err := r.typed.CoreV1().Events(ns).List(t.Context(), metav1.ListOptions{FieldSelector: "involvedObject.name=" + name})
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
