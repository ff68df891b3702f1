package scenario

import (
	"context"
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	runtimeschema "k8s.io/apimachinery/pkg/runtime/schema"

	"stoic/examples/operators/foobarset"
	"stoic/schema"
	"stoic/test/faults/history"
	"stoic/test/faults/oracle"
)

// fooBarSets returns the operator of examples/operators/foobarset: two levels, in one process.
func fooBarSets() *Operator {
	const deploy = "examples/operators/foobarset/deploy/"
	return &Operator{Name: "foobarset", Package: "./examples/operators/foobarset/cmd", Args: exampleArgs(),
		User: "system:serviceaccount:test-operators:foobarset-operator", Permissions: []string{deploy + "base/namespace.yaml", deploy + "base/roles.yaml", deploy + "together/rbac.yaml"},
		CRDs:     []string{"test/fixtures/foobarsets-open.yaml", "test/fixtures/foobartasks-open.yaml"},
		Resource: fooBarResource("foobarsets"), Dependents: []runtimeschema.GroupVersionResource{fooBarResource("foobartasks"), batchJobs()},
		// Pods belong to the Job controller.
		Unwatched: []runtimeschema.GroupVersionResource{core("pods")},
		Rules: oracle.Rules{Settled: fooBarSetSettled, Restores: func(u *unstructured.Unstructured) bool { return history.Is(u, "Ready") },
			Status: statusWith("tasks", "active", "succeeded", "failed"), Owner: history.Owner, Writes: func(reference int) int { return 2*reference + 20 }, Serves: []string{"foobartasks"},
			Always: []func(*oracle.Case) []string{tasksFirst}},
		Statuses: map[string]any{
			"nothing at all":         nil,
			"no conditions":          map[string]any{"conditions": []any{}},
			"a condition of its own": map[string]any{"conditions": []any{map[string]any{"type": "Weather", "status": "Unknown"}}},
			"a future generation":    map[string]any{"observedGeneration": 77},
			"counts of its own":      map[string]any{"succeeded": 99, "failed": 7},
			"counts of a string":     map[string]any{"active": "many"},
		},
		Labels: []string{"test.example.com/operator"},
		Foreign: func(u *unstructured.Unstructured) bool {
			return u.GetKind() == "Job" && u.GetLabels()["test.example.com/operator"] == ""
		},
		Goals: []string{"G1", "G3", "G4", "G6", "G11", "G14", "G18"}, Share: 24, Sample: []string{"foobarset-template", "foobarset-foreign"}, Scenarios: fooBarSetScenarios("foobarset-"), Watches: foobarset.Watches,
		Valid: []func(string) string{fooBarSetManifest(2), fooBarTask},
	}
}

// fooBarSetsApart returns the same operator with a process for each level.
func fooBarSetsApart() *Operator {
	o := fooBarSets()
	o.Name, o.Sample, o.Scenarios = "foobarset-apart", []string{"apart-template"}, fooBarSetScenarios("apart-")
	o.Processes = [][]string{{"--resources", "foobarsets"}, {"--resources", "foobartasks"}}
	o.Goals = []string{"G1", "G2", "G3", "G4", "G6", "G11", "G14", "G18"}
	o.Watches = nil // their objects are malformed for the operator of one process
	return o
}

func fooBarSetScenarios(prefix string) []Scenario {
	const path = "spec.template.image"
	image := func(to string) string { return `{"spec":{"template":{"image":` + to + `}}}` }
	toB, malformed := image(`"b:1"`), image(`7`)
	known := all(was("Stalled"), reported(path))
	done := func(image string, n int) Check { return all(fooBarSetSays("Running", n), tasksRun(image, n)) }
	again := Scenario{Name: "delete-create", Writes: 29, Manifest: fooBarSetManifest(2), End: done("a:1", 2)}
	once := again
	again.Steps = []Step{drop(metav1.DeletePropagationBackground, done("a:1", 2)), anew(once)}
	again.End = all(again.End, secondOf("FooBarTask", taskName("a:1", 0)))
	// Writes: the creation and deletion of each task and its Job, two statuses of a task, and one status of the set for each
	// change of a task that is not observed together with others. The numbers are a third above the counted ones.
	scenarios := []Scenario{
		{Name: "created", Writes: 15, Manifest: fooBarSetManifest(2), End: done("a:1", 2)},
		{Name: "complete", Writes: 19, Manifest: fooBarSetManifest(2), Steps: []Step{endTask("a:1", 0, 0, done("a:1", 2)), endTask("a:1", 1, 0, always)},
			End: fooBarSetSays("Complete", 2)},
		{Name: "failed", Writes: 17, Manifest: fooBarSetManifest(2), Steps: []Step{endTask("a:1", 1, 3, done("a:1", 2))}, End: fooBarSetSays("Failed", 2)},
		{Name: "template", Writes: 32, Manifest: fooBarSetManifest(2), Steps: []Step{edit("another template", done("a:1", 2), toB)}, End: done("b:1", 2)},
		{Name: "scaled", Writes: 29, Manifest: fooBarSetManifest(2), Steps: []Step{edit("three", done("a:1", 2), `{"spec":{"count":3}}`), edit("one", done("a:1", 3), `{"spec":{"count":1}}`)}, End: done("a:1", 1)},
		{Name: "foreign", Writes: 33, Manifest: fooBarSetManifest(1),
			Steps: []Step{somebodyElsesJob(done("a:1", 1)), edit("a template whose Job is taken", there(taskName("b:1", 0)), toB),
				edit("another template", warnedOf("NameConflict", taskName("b:1", 0)), image(`"c:1"`))},
			End: all(done("c:1", 1), there(taskName("b:1", 0)))},
		{Name: "repaired", Writes: 34, Paths: []string{path}, Manifest: fooBarSetManifest(2),
			Steps: []Step{spoil(done("a:1", 2), malformed), edit("repair", known, toB)}, End: done("b:1", 2)},
		{Name: "malformed", Writes: 16, Paths: []string{path}, Manifest: fooBarSetManifest(2),
			Steps: []Step{spoil(done("a:1", 2), malformed)}, End: all(known, tasksRun("a:1", 2))},
		{Name: "deleted", Writes: 15, Manifest: fooBarSetManifest(2), Steps: []Step{drop(metav1.DeletePropagationForeground, done("a:1", 2))}, End: nothing},
		again,
	}
	for i := range scenarios {
		scenarios[i].Name = prefix + scenarios[i].Name
	}
	return scenarios
}

func fooBarSetManifest(count int) func(string) string {
	return func(name string) string {
		return fmt.Sprintf(`{apiVersion: test.example.com/v1alpha1, kind: FooBarSet, metadata: {name: %s}, spec: {count: %d, template: {image: "a:1", backoffLimit: 0}}}`, name, count)
	}
}

// fooBarTask returns a task that belongs to no set.
func fooBarTask(name string) string {
	return fmt.Sprintf(`{apiVersion: test.example.com/v1alpha1, kind: FooBarTask, metadata: {name: %s}, spec: {image: "a:1", command: [train], backoffLimit: 1}}`, name)
}

// taskName returns the name of a set's task, without the name of the set.
func taskName(image string, number int) string {
	template := struct {
		Image        string `json:"image"`
		BackoffLimit int    `json:"backoffLimit"`
	}{Image: image}
	return fmt.Sprintf("%s-%d", schema.Hash(template), number)
}

// fooBarSetSettled: its tasks run, or its spec is malformed. A set that is complete, or has a failed task, does not count: if
// others delete a dependent of it, the recreated one runs again.
func fooBarSetSettled(u *unstructured.Unstructured) bool {
	for _, c := range history.Conditions(u) {
		if c.Type == "Ready" {
			return observed(u) && (c.Status == "True" && c.Reason == "Running" || c.Reason == "InvalidSpec")
		}
	}
	return false
}

// fooBarSetSays: the status is of the current spec, all its conditions have this reason, and it counts so many tasks.
func fooBarSetSays(reason string, tasks int) Check {
	return func(v history.View) (bool, string) {
		says := ""
		for _, c := range history.Conditions(v.Job) {
			if c.Type == "Ready" && c.Status == "True" {
				says = c.Reason
			}
		}
		counted := func(field string) int64 {
			n, _, _ := unstructured.NestedInt64(v.Job.Object, "status", field)
			return n
		}
		ok := says == reason && observed(v.Job) && counted("tasks") == int64(tasks) && (reason != "Running" || counted("active") == int64(tasks))
		return ok, fmt.Sprintf("want %s of %d tasks; %s", reason, tasks, describe(v))
	}
}

// tasksRun: so many tasks of that image exist, each with its Job and a running pod, and the set has no others.
func tasksRun(image string, n int) Check {
	return func(v history.View) (bool, string) {
		var tasks, jobs, pods []string
		for _, u := range v.Dependents {
			is, _, _ := unstructured.NestedString(u.Object, "spec", "image")
			switch {
			case u.GetKind() == "FooBarTask" && (is != image || u.GetDeletionTimestamp() != nil || v.Job == nil || history.Owner(u) != v.Job.GetUID()):
				tasks = append(tasks, u.GetName()+" of "+is)
			case u.GetKind() == "FooBarTask":
				tasks = append(tasks, u.GetName())
			case history.Owner(u) != "":
				jobs = append(jobs, u.GetName())
			}
		}
		for _, u := range v.Pods {
			if !runs(u) {
				return false, "a pod does not run; " + describe(v)
			}
			pods = append(pods, strings.TrimSuffix(history.NameOf(u), "-"+history.Generated))
		}
		slices.Sort(pods)
		want := make([]string, 0, n)
		for i := range n {
			want = append(want, v.Name+"-"+taskName(image, i))
		}
		return slices.Equal(tasks, want) && slices.Equal(jobs, want) && slices.Equal(pods, want), fmt.Sprintf("want the tasks %v; %s", want, describe(v))
	}
}

// endTask is a kubelet's step: the pod of a task ends with an exit code.
func endTask(image string, number int, code int64, when Check) Step {
	pod := func(v history.View) *unstructured.Unstructured {
		for _, u := range v.Pods {
			if strings.HasPrefix(u.GetName(), v.Name+"-"+taskName(image, number)+"-") {
				return u
			}
		}
		return nil
	}
	past := func(v history.View) (bool, string) {
		u := pod(v)
		return u != nil && ended(u) || v.Job == nil, describe(v)
	}
	ready := func(v history.View) (bool, string) {
		if u := pod(v); u == nil || !runs(u) {
			return false, "the pod does not run; " + describe(v)
		}
		return when(v)
	}
	return Step{Name: fmt.Sprintf("task %d ends with %d", number, code), When: either(past, ready), Do: func(ctx context.Context, a Actor) error {
		view := a.Run.View()
		if done, _ := past(view); done {
			return nil
		}
		return a.conclude(ctx, pod(view), code)
	}}
}

// somebodyElsesJob creates a foreign Job with a name that a task will need. It is suspended, so that it has no pods.
func somebodyElsesJob(when Check) Step {
	name := taskName("b:1", 0)
	return Step{Name: "somebody else creates a Job", When: either(there(name), when), Do: func(ctx context.Context, a Actor) error {
		u := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "batch/v1", "kind": "Job", "spec": map[string]any{"suspend": true,
			"template": map[string]any{"spec": map[string]any{"restartPolicy": "Never", "containers": []any{map[string]any{"name": "mine", "image": "mine:1"}}}}}}}
		u.SetName(a.Job + "-" + name)
		return a.store(ctx, a.Client.Resource(batchJobs()).Namespace(a.Namespace), u)
	}}
}

// tasksFirst: the operator deletes a task of a set that is not being deleted only if there are as many others as the spec has.
func tasksFirst(c *oracle.Case) []string {
	return successors(c, fooBarResource("foobartasks"), func(set *unstructured.Unstructured, others []*unstructured.Unstructured) bool {
		count, ok, _ := unstructured.NestedInt64(set.Object, "spec", "count")
		return ok && len(others) >= int(count)
	})
}
