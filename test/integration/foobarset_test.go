package integration

import (
	"context"
	"fmt"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	runtimeschema "k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"stoic/cli/cluster"
	"stoic/examples/operators/foobarset"
)

const fooBarSetDeploy = root + "/examples/operators/foobarset/deploy"

// fooBarSetUsers returns the service accounts of the operator of examples/operators/foobarset: of one process, and of each of two.
func fooBarSetUsers() map[string]string {
	const account = "system:serviceaccount:test-operators:foobarset-operator"
	return map[string]string{"together": account, "sets": account + "-sets", "tasks": account + "-tasks"}
}

// fooBarSets is a control plane with that operator, with its shipped permissions.
type fooBarSets struct {
	*rig
	program string
	form    string // together, or apart: a part of the names of namespaces
}

// TestFooBarSet runs an operator of two levels, in one process and in two.
func TestFooBarSet(t *testing.T) {
	t.Parallel() // it mostly waits
	f := &fooBarSets{program: build(t, "./examples/operators/foobarset/cmd", raceDetector()...)}
	f.rig = bareRig(t, cluster.Options{Nodes: 1, Strict: true, Users: fooBarSetUsers(),
		CRDs: []string{filepath.Join(root, "test/fixtures/foobarsets-open.yaml"), filepath.Join(root, "test/fixtures/foobartasks-open.yaml")}})
	f.kubectl(t, nil, "apply", "-f", fooBarSetDeploy+"/base/namespace.yaml", "-f", fooBarSetDeploy+"/base/roles.yaml", "-f", fooBarSetDeploy+"/together/rbac.yaml", "-f", fooBarSetDeploy+"/apart/rbac.yaml")
	// With a scale subresource an API server reads spec.count, whatever the schema says. One that was added later did not.
	f.patchDefinition(t, "foobarsets.test.example.com", `[{"op":"remove","path":"/spec/versions/0/subresources/scale"}]`)
	f.awaitWithoutScale(t)
	f.storeMalformed(t, "malformed-together")
	f.storeMalformed(t, "malformed-apart")
	f.redefine(t, fooBarSetDeploy+"/crd")
	t.Run("together", func(t *testing.T) { f.inForm("together").suite(t, f.start(t, "together")) })
	t.Run("apart", func(t *testing.T) { f.inForm("apart").suite(t, f.start(t, "sets"), f.start(t, "tasks")) })
	f.inForm("apart").bothBegun(t)
	t.Run("each killed", func(t *testing.T) { fooBarSetKilled(t, f) })
	f.nothingIsForbidden(t, "/namespaces/quota-") // an exceeded quota is Forbidden, too
	f.inForm("together").bothBegun(t)
	t.Run("CRDs recreated", func(t *testing.T) { fooBarSetCRDsRecreated(t, f) })
	f.nothingIsForbidden(t, "/namespaces/quota-", "/foobartasks") // creations of a CRD that is being deleted are Forbidden
	t.Run("each right is used", func(t *testing.T) {
		guards := append(f.inForm("together").guards(), f.inForm("apart").guards()...)
		eachRightIsUsed(t, f.rig, guards, fooBarSetDeploy+"/base/roles.yaml", fooBarSetDeploy+"/together/rbac.yaml", fooBarSetDeploy+"/apart/rbac.yaml")
	})
}

// nothingIsForbidden: no request of the processes is Forbidden, except those with one of these parts.
func (f *fooBarSets) nothingIsForbidden(t *testing.T, but ...string) {
	t.Helper()
	for name, user := range fooBarSetUsers() {
		all := f.requestsOf(t, user)
		if len(all) == 0 {
			t.Errorf("no requests of %s", name)
		}
		for _, q := range all {
			if q.ResponseStatus.Code == http.StatusForbidden && !q.guarded() && !slices.ContainsFunc(but, func(part string) bool { return q.Verb == "create" && strings.Contains(q.RequestURI, part) }) {
				t.Errorf("forbidden to %s: %s %s", name, q.Verb, q.RequestURI)
			}
		}
	}
}

func (f *fooBarSets) guards() []guard {
	sets, tasks := fooBarSetUsers()["together"], fooBarSetUsers()["together"]
	if f.form == "apart" {
		sets, tasks = fooBarSetUsers()["sets"], fooBarSetUsers()["tasks"]
	}
	return []guard{
		{finalizersOf("test.example.com", "foobarsets"), []string{sets}, "FooBarSet", func(t *testing.T, ns string) {
			f.apply(t, ns, fooBarSet("guarded", `{template: {image: "a:1"}}`))
		}},
		{finalizersOf("test.example.com", "foobartasks"), []string{tasks}, "FooBarTask", func(t *testing.T, ns string) {
			f.apply(t, ns, fooBarTask("guarded", `{image: "a:1"}`))
		}},
	}
}

// bothBegun creates a set and a task for the next processes of this form.
func (f *fooBarSets) bothBegun(t *testing.T) {
	t.Helper()
	ns := f.namespace(t, "begun-"+f.form)
	f.begun(t, foobarset.Watches(), "foobarsets", ns, "begun", fooBarSet("begun", `{template: {image: "a:1"}}`))
	f.begun(t, foobarset.Watches(), "foobartasks", ns, "begun", fooBarTask("begun", `{image: "a:1"}`))
}

func (f *fooBarSets) inForm(form string) *fooBarSets { return &fooBarSets{f.rig, f.program, form} }

// awaitWithoutScale waits until the API server accepts any count.
func (f *fooBarSets) awaitWithoutScale(t *testing.T) {
	t.Helper()
	await(t, "the scale subresource to be gone", func() (bool, string) {
		out, err := f.tryKubectl([]byte(fooBarSet("trial", `{count: many}`)), "-n", "default", "create", "-f", "-")
		return err == nil, out
	})
	f.kubectl(t, nil, "-n", "default", "delete", "foobarset", "trial")
}

// suite runs the scenarios with processes that are ready, checks that they are idle then, and stops them.
func (f *fooBarSets) suite(t *testing.T, processes ...*process) {
	t.Run("scenarios", func(t *testing.T) {
		sideBySide(t, f, map[string]func(*testing.T, *fooBarSets){
			"malformed":          fooBarSetMalformed,
			"complete":           fooBarSetComplete,
			"failed":             fooBarSetFailed,
			"template and count": fooBarSetChanged,
			"foreign":            fooBarSetForeign,
			"by hand":            fooBarTaskByHand,
			"recreated":          fooBarSetRecreated,
			"long name":          fooBarSetLongName,
			"quota":              fooBarSetQuota,
		})
	})
	users := fooBarSetUsers()
	if f.form == "together" {
		delete(users, "sets")
		delete(users, "tasks")
	} else {
		delete(users, "together")
	}
	t.Run("idle", func(t *testing.T) {
		for _, user := range users {
			f.awaitIdle(t, user, "foobarset_operator", processes...)
		}
	})
	t.Run("finalizers", func(t *testing.T) {
		finalizersAreGuarded(t, f.rig, "finalizers-"+f.form, strictWithOwners(f.guards()), fooBarSetDeploy+"/base/roles.yaml")
	})
	for _, p := range processes {
		p.stop(t)
	}
}

// start starts the process of a user: both levels, or one of the two. It does not have to wait for its lease.
func (f *fooBarSets) start(t *testing.T, user string) *process {
	t.Helper()
	file, name := "/together/deployment.yaml", "foobarset-operator"
	if user != "together" {
		file, name = "/apart/deployments.yaml", "foobarset-operator-"+user
	}
	for _, lease := range []string{"foobarset-operator", "foobarset-operator-foobarsets", "foobarset-operator-foobartasks"} {
		if user == "together" && lease == "foobarset-operator" || user != "together" && strings.HasSuffix(lease, user) {
			f.kubectl(t, nil, "-n", "test-operators", "delete", "lease", lease, "--ignore-not-found")
		}
	}
	return f.asShipped(t, f.program, user, fooBarSetDeploy+file, name)
}

func fooBarSet(name, spec string) string {
	if spec != "" {
		spec = "\nspec: " + spec
	}
	return "apiVersion: test.example.com/v1alpha1\nkind: FooBarSet\nmetadata: {name: " + name + "}" + spec + "\n"
}

func fooBarTask(name, spec string) string {
	return strings.Replace(fooBarSet(name, spec), "FooBarSet", "FooBarTask", 1)
}

func (f *fooBarSets) sets() runtimeschema.GroupVersionResource {
	return runtimeschema.GroupVersionResource{Group: "test.example.com", Version: "v1alpha1", Resource: "foobarsets"}
}

func (f *fooBarSets) tasksResource() runtimeschema.GroupVersionResource {
	return runtimeschema.GroupVersionResource{Group: "test.example.com", Version: "v1alpha1", Resource: "foobartasks"}
}

// awaitEvent waits for an event of an operator other than the training operator.
func (f *fooBarSets) awaitEvent(t *testing.T, ns, name, reason, path, says string) {
	t.Helper()
	(&foobars{rig: f.rig}).awaitEvent(t, ns, name, reason, path, says)
}

// read returns an object, or nil if it does not exist.
func (f *rig) read(t *testing.T, of runtimeschema.GroupVersionResource, ns, name string) *unstructured.Unstructured {
	t.Helper()
	u, err := f.dynamic.Resource(of).Namespace(ns).Get(context.Background(), name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		t.Fatalf("get %s %s/%s: %v", of.Resource, ns, name, err)
	}
	return u
}

// tasks returns those of a set that are not being deleted, in the order of their names.
func (f *fooBarSets) tasks(t *testing.T, ns, set string) (found []unstructured.Unstructured) {
	t.Helper()
	list, err := f.dynamic.Resource(f.tasksResource()).Namespace(ns).List(context.Background(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, u := range list.Items {
		if owner := metav1.GetControllerOf(&u); owner != nil && owner.Name == set && u.GetDeletionTimestamp() == nil {
			found = append(found, u)
		}
	}
	slices.SortFunc(found, func(a, b unstructured.Unstructured) int { return strings.Compare(a.GetName(), b.GetName()) })
	return found
}

// counts returns the counts of a set's status.
func counts(u *unstructured.Unstructured) string {
	number := func(field string) int64 {
		n, _, _ := unstructured.NestedInt64(u.Object, "status", field)
		return n
	}
	return fmt.Sprintf("%d tasks, %d active, %d succeeded, %d failed", number("tasks"), number("active"), number("succeeded"), number("failed"))
}

// awaitSet waits until the status of a set reports its generation, these counts, and this condition.
func (f *fooBarSets) awaitSet(t *testing.T, ns, name, want, of, says string) {
	t.Helper()
	await(t, fmt.Sprintf("%s/%s to have %s and %s %s", ns, name, want, of, says), func() (bool, string) {
		u := f.read(t, f.sets(), ns, name)
		if u == nil {
			return false, "nothing"
		}
		generation, _, _ := unstructured.NestedInt64(u.Object, "status", "observedGeneration")
		is, message := condition(u, of)
		return counts(u) == want && is == says && generation == u.GetGeneration(), fmt.Sprint(counts(u), ", ", of, " ", is, ": ", message)
	})
}

// awaitTasks waits until there are so many tasks of an image, and none of another, and returns their names.
func (f *fooBarSets) awaitTasks(t *testing.T, ns, set, image string, count int) (names []string) {
	t.Helper()
	await(t, fmt.Sprintf("%d tasks of %s with %s", count, set, image), func() (bool, string) {
		names = nil
		others := 0
		for _, u := range f.tasks(t, ns, set) {
			if is, _, _ := unstructured.NestedString(u.Object, "spec", "image"); is == image {
				names = append(names, u.GetName())
			} else {
				others++
			}
		}
		return len(names) == count && others == 0, fmt.Sprint(names, others)
	})
	return names
}

// end ends a pod of a task, as soon as one runs, as a kubelet does.
func (f *fooBarSets) end(t *testing.T, ns, task string, phase corev1.PodPhase) {
	t.Helper()
	await(t, "a pod of "+task+" to end", func() (bool, string) {
		pods, err := f.typed.CoreV1().Pods(ns).List(context.Background(), metav1.ListOptions{LabelSelector: "batch.kubernetes.io/job-name=" + task})
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range pods.Items {
			if p.Status.Phase != corev1.PodRunning {
				continue
			}
			_, err := f.typed.CoreV1().Pods(ns).Patch(context.Background(), p.Name, types.StrategicMergePatchType, []byte(`{"status":{"phase":"`+string(phase)+`"}}`), metav1.PatchOptions{}, "status")
			return err == nil, fmt.Sprint(err)
		}
		return false, fmt.Sprintf("%d pods", len(pods.Items))
	})
}

// fooBarSetComplete: the tasks run in parallel, and the set counts them to the end.
func fooBarSetComplete(t *testing.T, f *fooBarSets) {
	ns := f.namespace(t, "complete-"+f.form)
	f.apply(t, ns, fooBarSet("web", `{count: 2, template: {image: "a:1", command: [run, "7"]}}`))
	names := f.awaitTasks(t, ns, "web", "a:1", 2)
	f.awaitSet(t, ns, "web", "2 tasks, 2 active, 0 succeeded, 0 failed", "Ready", "True Running")
	job, err := f.typed.BatchV1().Jobs(ns).Get(context.Background(), names[0], metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	c := job.Spec.Template.Spec.Containers[0]
	if owner := metav1.GetControllerOf(job); c.Image != "a:1" || fmt.Sprint(c.Command) != "[run 7]" || *job.Spec.BackoffLimit != 3 || owner == nil || owner.Kind != "FooBarTask" || owner.Name != names[0] {
		t.Errorf("the Job: %+v", job)
	}
	f.end(t, ns, names[0], corev1.PodSucceeded)
	f.awaitSet(t, ns, "web", "2 tasks, 1 active, 1 succeeded, 0 failed", "Complete", "False Running")
	f.end(t, ns, names[1], corev1.PodSucceeded)
	f.awaitSet(t, ns, "web", "2 tasks, 0 active, 2 succeeded, 0 failed", "Complete", "True Complete")
	// A Job that has ended does not run again, whatever is deleted.
	f.kubectl(t, nil, "-n", ns, "delete", "job", names[0])
	f.kubectl(t, nil, "-n", ns, "patch", "fbs", "web", "--subresource=status", "--type=merge", "-p", `{"status":null}`)
	f.awaitSet(t, ns, "web", "2 tasks, 0 active, 2 succeeded, 0 failed", "Complete", "True Complete")
	if jobs, err := f.typed.BatchV1().Jobs(ns).List(context.Background(), metav1.ListOptions{}); err != nil || len(jobs.Items) != 1 {
		t.Errorf("%d Jobs, %v", len(jobs.Items), err)
	}
}

// fooBarSetFailed: the set reports a failure, and deleting the task starts another run.
func fooBarSetFailed(t *testing.T, f *fooBarSets) {
	ns := f.namespace(t, "failed-"+f.form)
	f.apply(t, ns, fooBarSet("web", `{count: 2, template: {image: "a:1", backoffLimit: 0}}`))
	names := f.awaitTasks(t, ns, "web", "a:1", 2)
	f.end(t, ns, names[1], corev1.PodFailed)
	f.awaitSet(t, ns, "web", "2 tasks, 1 active, 0 succeeded, 1 failed", "Stalled", "True Failed")
	if _, message := condition(f.read(t, f.sets(), ns, "web"), "Stalled"); !strings.Contains(message, "delete "+names[1]+" to run it again: BackoffLimitExceeded") {
		t.Errorf("it says %q", message)
	}
	f.kubectl(t, nil, "-n", ns, "delete", "fbt", names[1])
	f.awaitSet(t, ns, "web", "2 tasks, 2 active, 0 succeeded, 0 failed", "Stalled", "False Running")
	for _, name := range names {
		f.end(t, ns, name, corev1.PodSucceeded)
	}
	f.awaitSet(t, ns, "web", "2 tasks, 0 active, 2 succeeded, 0 failed", "Complete", "True Complete")
}

// fooBarSetChanged: new tasks are created before the former ones are deleted; the highest numbers are deleted first; what others
// edit is restored.
func fooBarSetChanged(t *testing.T, f *fooBarSets) {
	ns := f.namespace(t, "changed-"+f.form)
	f.apply(t, ns, fooBarSet("web", `{count: 2, template: {image: "a:1"}}`))
	former := f.awaitTasks(t, ns, "web", "a:1", 2)
	f.awaitSet(t, ns, "web", "2 tasks, 2 active, 0 succeeded, 0 failed", "Ready", "True Running")
	f.kubectl(t, nil, "-n", ns, "patch", "fbs", "web", "--type=merge", "-p", `{"spec":{"template":{"image":"b:1"}}}`)
	names := f.awaitTasks(t, ns, "web", "b:1", 2)
	made, gone := -1, -1
	for i, q := range f.requestsOf(t, fooBarSetUsers()[map[string]string{"together": "together", "apart": "sets"}[f.form]]) {
		if q.ObjectRef.Namespace == ns && q.ObjectRef.Resource == "foobartasks" && q.Verb == "create" {
			made = i
		} else if q.Verb == "delete" && q.ObjectRef.Namespace == ns && slices.Contains(former, q.ObjectRef.Name) && gone < 0 {
			gone = i
		}
	}
	if made < 0 || gone < made {
		t.Errorf("the last task was created by request %d, the first one deleted by %d", made, gone)
	}
	f.kubectl(t, nil, "-n", ns, "scale", "fbs", "web", "--replicas=4")
	f.awaitTasks(t, ns, "web", "b:1", 4)
	f.kubectl(t, nil, "-n", ns, "scale", "fbs/web", "--replicas=1")
	if left := f.awaitTasks(t, ns, "web", "b:1", 1); left[0] != names[0] {
		t.Errorf("%s is left, want %s", left[0], names[0])
	}
	uid := f.read(t, f.tasksResource(), ns, names[0]).GetUID()
	f.kubectl(t, nil, "-n", ns, "patch", "fbt", names[0], "--type=merge", "-p", `{"spec":{"image":"mine:1"}}`)
	await(t, "the task to be made again", func() (bool, string) {
		u := f.read(t, f.tasksResource(), ns, names[0])
		return u != nil && u.GetUID() != uid, fmt.Sprint(u)
	})
	f.awaitTasks(t, ns, "web", "b:1", 1)
	f.kubectl(t, nil, "-n", ns, "label", "fbt", names[0], "test.example.com/operator-")
	await(t, "the label to be put back", func() (bool, string) {
		u := f.read(t, f.tasksResource(), ns, names[0])
		return u != nil && u.GetLabels()["test.example.com/operator"] == "foobarset", fmt.Sprint(u)
	})
	f.kubectl(t, nil, "-n", ns, "scale", "fbs/web", "--replicas=0")
	f.awaitSet(t, ns, "web", "0 tasks, 0 active, 0 succeeded, 0 failed", "Complete", "True Complete")
}

// fooBarSetForeign: a foreign task with the required name is never touched, and is reported.
func fooBarSetForeign(t *testing.T, f *fooBarSets) {
	ns := f.namespace(t, "foreign-"+f.form)
	f.apply(t, ns, fooBarSet("web", `{count: 2, template: {image: "a:1"}}`))
	names := f.awaitTasks(t, ns, "web", "a:1", 2)
	f.kubectl(t, nil, "-n", ns, "delete", "fbs", "web", "--cascade=orphan")
	f.kubectl(t, nil, "-n", ns, "delete", "fbt", names[0])
	f.apply(t, ns, fooBarSet("web", `{count: 2, template: {image: "a:1"}}`))
	f.awaitEvent(t, ns, "web", "NameConflict", "", "FooBarTask "+ns+"/"+names[1]+" already exists and is not managed by FooBarSet web;")
	f.awaitSet(t, ns, "web", "1 tasks, 1 active, 0 succeeded, 0 failed", "Ready", "False NameTaken")
	if u := f.read(t, f.tasksResource(), ns, names[1]); u == nil || u.GetGeneration() != 1 || metav1.GetControllerOf(u) != nil {
		t.Errorf("the foreign task: %v", u)
	}
}

// labelOfJob returns the label by which the operator finds the Job; "" if there is no Job.
func (f *fooBarSets) labelOfJob(t *testing.T, ns, name string) string {
	t.Helper()
	return f.kubectl(t, nil, "-n", ns, "get", "job", name, "--ignore-not-found", "-o", `jsonpath={.metadata.labels.test\.example\.com/operator}`)
}

// fooBarTaskByHand: a task without a set runs. A foreign Job of its name is left alone, and its own Job keeps the label.
func fooBarTaskByHand(t *testing.T, f *fooBarSets) {
	ns := f.namespace(t, "by-hand-"+f.form)
	f.apply(t, ns, fooBarTask("mine", `{image: "a:1"}`))
	f.apply(t, ns, fooBarTask(strings.Repeat("n", 64), `{image: "a:1"}`))
	f.awaitEvent(t, ns, strings.Repeat("n", 64), "FooBarTaskFailedValidation", "metadata.name", "must have at most 63")
	f.kubectl(t, nil, "-n", ns, "create", "job", "taken", "--image=b:1")
	f.apply(t, ns, fooBarTask("taken", `{image: "a:1"}`))
	f.awaitEvent(t, ns, "taken", "NameConflict", "", "Job "+ns+"/taken already exists and is not managed by FooBarTask taken;")
	await(t, "the Job", func() (bool, string) { return f.labelOfJob(t, ns, "mine") == "foobartask", "none" })
	f.kubectl(t, nil, "-n", ns, "label", "job", "mine", "test.example.com/operator-")
	await(t, "the label that was taken off", func() (bool, string) { return f.labelOfJob(t, ns, "mine") == "foobartask", "none" })
	f.end(t, ns, "mine", corev1.PodSucceeded)
	await(t, "the task to be complete", func() (bool, string) {
		is, message := condition(f.read(t, f.tasksResource(), ns, "mine"), "Complete")
		return is == "True Complete", is + message
	})
	if out, err := f.tryKubectl([]byte(fooBarTask("wrong", `{image: "a b"}`)), "-n", ns, "apply", "-f", "-"); err == nil || !strings.Contains(out, "spec.image") {
		t.Errorf("the CRD lets a malformed image in: %s", out)
	}
}

// fooBarSetRecreated: a set with the name of a deleted one gets its own tasks and Jobs, however the first one was deleted.
func fooBarSetRecreated(t *testing.T, f *fooBarSets) {
	ns := f.namespace(t, "recreated-"+f.form)
	seen := map[types.UID]bool{}
	for _, cascade := range []string{"background", "foreground", ""} {
		f.apply(t, ns, fooBarSet("web", `{count: 2, template: {image: "a:1"}}`))
		f.awaitSet(t, ns, "web", "2 tasks, 2 active, 0 succeeded, 0 failed", "Ready", "True Running")
		set := f.read(t, f.sets(), ns, "web")
		for _, u := range f.tasks(t, ns, "web") {
			if owner := metav1.GetControllerOf(&u); seen[u.GetUID()] || owner.UID != set.GetUID() {
				t.Errorf("the task %s is the former one's", u.GetName())
			}
			seen[u.GetUID()] = true
		}
		if cascade != "" {
			f.kubectl(t, nil, "-n", ns, "delete", "fbs", "web", "--cascade="+cascade, "--wait=false")
			await(t, "the end of the set, deleted with "+cascade, func() (bool, string) {
				u := f.read(t, f.sets(), ns, "web")
				return u == nil, f.left(t, ns)
			})
		}
	}
	f.kubectl(t, nil, "-n", ns, "delete", "fbs", "web", "--wait=false")
	await(t, "everything to be gone", func() (bool, string) {
		left := f.left(t, ns)
		return left == "", left
	})
}

// left returns what exists in a namespace, and what it waits for.
func (f *fooBarSets) left(t *testing.T, ns string) string {
	t.Helper()
	out := f.kubectl(t, nil, "-n", ns, "get", "fbs,fbt,jobs,pods", "--no-headers", "-o",
		"custom-columns=K:.kind,N:.metadata.name,D:.metadata.deletionTimestamp,F:.metadata.finalizers,O:.metadata.ownerReferences[*].uid,U:.metadata.uid,P:.status.phase")
	if strings.Contains(out, "No resources") {
		return ""
	}
	return out
}

// fooBarSetLongName: names are cut, and nevertheless differ.
func fooBarSetLongName(t *testing.T, f *fooBarSets) {
	ns := f.namespace(t, "long-"+f.form)
	long := strings.Repeat("n", 200)
	for _, name := range []string{long + "a", long + "b"} {
		f.apply(t, ns, fooBarSet(name, `{template: {image: "a:1"}}`))
		f.awaitSet(t, ns, name, "1 tasks, 1 active, 0 succeeded, 0 failed", "Ready", "True Running")
		f.end(t, ns, f.awaitTasks(t, ns, name, "a:1", 1)[0], corev1.PodSucceeded)
		f.awaitSet(t, ns, name, "1 tasks, 0 active, 1 succeeded, 0 failed", "Complete", "True Complete")
	}
}

// fooBarSetQuota: the upper level reports what the lower level is refused, and continues when there is room.
func fooBarSetQuota(t *testing.T, f *fooBarSets) {
	ns := f.namespace(t, "quota-"+f.form)
	f.kubectl(t, nil, "-n", ns, "create", "quota", "few", "--hard=count/jobs.batch=1")
	await(t, "the quota to count", func() (bool, string) {
		out := f.kubectl(t, nil, "-n", ns, "get", "quota", "few", "-o", "jsonpath={.status.used}")
		return strings.Contains(out, "count/jobs.batch"), out
	})
	f.apply(t, ns, fooBarSet("web", `{count: 2, template: {image: "a:1"}}`))
	f.awaitSet(t, ns, "web", "2 tasks, 1 active, 0 succeeded, 0 failed", "Complete", "False Running")
	await(t, "the set to say what it waits for", func() (bool, string) {
		_, message := condition(f.read(t, f.sets(), ns, "web"), "Complete")
		return strings.Contains(message, "exceeded quota: few"), message
	})
	f.kubectl(t, nil, "-n", ns, "patch", "quota", "few", "--type=merge", "-p", `{"spec":{"hard":{"count/jobs.batch":"5"}}}`)
	f.awaitSet(t, ns, "web", "2 tasks, 2 active, 0 succeeded, 0 failed", "Ready", "True Running")
}
