package integration

import (
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// awaitIdle waits until processes have nothing to do. It checks that they then send requests only for their lease, and now and
// then whether the API server still serves their resources.
func (r *rig) awaitIdle(t *testing.T, user, prefix string, processes ...*process) {
	t.Helper()
	await(t, "all keys and events to be worked off", func() (bool, string) {
		for _, p := range processes {
			keys, _ := p.metric(t, "workqueue_depth")
			busy, _ := p.metric(t, "workqueue_unfinished_work_seconds")
			events, _ := p.metric(t, prefix+"_events_backlog")
			if keys > 0 || busy > 0 || events > 0 {
				return false, fmt.Sprintf("%v keys, %v busy, %v events", keys, busy, events)
			}
		}
		return true, ""
	})
	quiet := func() (others []string, discoveries int) {
		before := len(r.requestsOf(t, user))
		for end := time.Now().Add(5 * time.Second); time.Now().Before(end); {
			time.Sleep(100 * time.Millisecond) // absence cannot be awaited, only watched for a while
		}
		for _, q := range r.requestsOf(t, user)[before:] {
			switch path, _, _ := strings.Cut(q.RequestURI, "?"); {
			case q.ObjectRef.Resource == "leases", q.Verb == "watch": // a watch is answered when it ends
			case q.Verb == "get" && strings.HasPrefix(path, "/api") && q.ObjectRef.Resource == "":
				discoveries++
			default:
				others = append(others, q.Verb+" "+q.RequestURI)
			}
		}
		return others, discoveries
	}
	// Rejected requests are retried ever more rarely, and every write requeues a reconcile. After that there are no requests.
	var others []string
	var discoveries int
	await(t, "no request of "+user, func() (bool, string) {
		others, discoveries = quiet()
		return len(others) == 0, strings.Join(others, "\n")
	})
	if discoveries > 4 {
		t.Errorf("%d discoveries within five seconds", discoveries)
	}
}

// fooBarSetKilled: each of two processes is killed while the other keeps running, and in the middle of a change.
func fooBarSetKilled(t *testing.T, f *fooBarSets) {
	ns := f.namespace(t, "killed")
	sets, tasks := f.start(t, "sets"), f.start(t, "tasks")
	f.apply(t, ns, fooBarSet("web", `{count: 2, template: {image: "a:0"}}`))
	f.awaitSet(t, ns, "web", "2 tasks, 2 active, 0 succeeded, 0 failed", "Ready", "True Running")

	tasks.kill(t) // sets are created and changed without it
	f.kubectl(t, nil, "-n", ns, "patch", "fbs", "web", "--type=merge", "-p", `{"spec":{"template":{"image":"a:1"}}}`)
	names := f.awaitTasks(t, ns, "web", "a:1", 2)
	f.awaitSet(t, ns, "web", "2 tasks, 0 active, 0 succeeded, 0 failed", "Complete", "False Running")
	tasks = f.start(t, "tasks")
	f.awaitSet(t, ns, "web", "2 tasks, 2 active, 0 succeeded, 0 failed", "Ready", "True Running")

	sets.kill(t) // tasks run to completion without it
	f.end(t, ns, names[0], corev1.PodSucceeded)
	await(t, "the task to be complete", func() (bool, string) {
		is, message := condition(f.read(t, f.tasksResource(), ns, names[0]), "Complete")
		return is == "True Complete", is + message
	})
	sets = f.start(t, "sets")
	f.awaitSet(t, ns, "web", "2 tasks, 1 active, 1 succeeded, 0 failed", "Ready", "True Running")

	former := map[types.UID]bool{}
	for i := 2; i < 5; i++ {
		for _, u := range f.tasks(t, ns, "web") {
			former[u.GetUID()] = true
		}
		image := fmt.Sprintf("a:%d", i)
		f.kubectl(t, nil, "-n", ns, "patch", "fbs", "web", "--type=merge", "-p", `{"spec":{"template":{"image":"`+image+`"}}}`)
		await(t, "the first new task", func() (bool, string) {
			for _, u := range f.tasks(t, ns, "web") {
				if !former[u.GetUID()] {
					return true, ""
				}
			}
			return false, "none"
		})
		sets.kill(t)
		tasks.kill(t)
		sets, tasks = f.start(t, "sets"), f.start(t, "tasks")
		f.awaitTasks(t, ns, "web", image, 2)
		f.awaitSet(t, ns, "web", "2 tasks, 2 active, 0 succeeded, 0 failed", "Ready", "True Running")
	}
	f.kubectl(t, nil, "-n", ns, "delete", "fbs", "web", "--wait=false")
	sets.kill(t)
	await(t, "everything to be gone with the upper level down", func() (bool, string) {
		out := f.kubectl(t, nil, "-n", ns, "get", "fbs,fbt,jobs", "-o", "name")
		return out == "" || strings.Contains(out, "No resources"), out
	})
	tasks.stop(t)
}

// fooBarSetCRDsRecreated: each CRD is deleted with all its objects and recreated. Both are created after a process has started.
func fooBarSetCRDsRecreated(t *testing.T, f *fooBarSets) {
	ns := f.namespace(t, "again")
	p := f.start(t, "together")
	const spec = `{count: 2, template: {image: "a:1"}}`
	f.apply(t, ns, fooBarSet("web", spec))
	f.awaitSet(t, ns, "web", "2 tasks, 2 active, 0 succeeded, 0 failed", "Ready", "True Running")
	former := f.tasks(t, ns, "web")[0].GetUID()
	f.undefine(t, fooBarSetDeploy+"/crd/foobartasks.yaml")
	f.define(t, fooBarSetDeploy+"/crd/foobartasks.yaml")
	await(t, "tasks to be made again", func() (bool, string) {
		out, err := f.tryKubectl(nil, "-n", ns, "get", "fbt", "-o", "jsonpath={.items[*].metadata.uid}")
		return err == nil && len(strings.Fields(out)) == 2 && !strings.Contains(out, string(former)), out
	})
	f.awaitSet(t, ns, "web", "2 tasks, 2 active, 0 succeeded, 0 failed", "Ready", "True Running")
	f.undefine(t, fooBarSetDeploy+"/crd/foobarsets.yaml")
	await(t, "the tasks to be collected", func() (bool, string) {
		out := f.kubectl(t, nil, "-n", ns, "get", "fbt,jobs", "-o", "name")
		return out == "" || strings.Contains(out, "No resources"), out
	})
	f.define(t, fooBarSetDeploy+"/crd/foobarsets.yaml")
	serves := func() {
		await(t, "the set to be taken", func() (bool, string) {
			out, err := f.tryKubectl([]byte(fooBarSet("web", spec)), "-n", ns, "apply", "-f", "-")
			return err == nil, out
		})
		f.awaitSet(t, ns, "web", "2 tasks, 2 active, 0 succeeded, 0 failed", "Ready", "True Running")
	}
	serves()
	f.beforeItsCRD(t, p, func() *process { return f.start(t, "together") }, fooBarSetDeploy+"/crd", []string{"FooBarSet", "FooBarTask"}, serves)
}
