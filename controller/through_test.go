package controller

import (
	"slices"
	"sync"
	"testing"

	"stoic/schema"
	"stoic/training"
	"stoic/training/kinds"
)

// TestOwnerChainOfTwoSteps: a pod that an owned Job controls wakes the primary, and is seen among its children, even if
// they are read from the API server. The references may name a version that is not served.
func TestOwnerChainOfTwoSteps(t *testing.T) {
	s := newAPIServer(t)
	s.serve("batch/v1", "jobs")
	var mu sync.Mutex
	var last schema.Observed
	c := newTestController(t, s, func(o *Options) {
		o.Watches = jobs(o, kinds.TFJob())
		w := &o.Watches[0]
		w.Owns[0].Through = []schema.Resource{schema.Jobs()}
		w.Owns = append(w.Owns, &Owned{Resource: schema.Jobs()})
		w.Decide = func(seen schema.Observed) schema.Plan {
			mu.Lock()
			defer mu.Unlock()
			last = seen
			return schema.Plan{}
		}
	})
	start(t, c)
	s.put(job("a", 1, `{}`))
	child := func(path, name, kind, apiVersion, owner, uid string) {
		s.locked(func() {
			s.store(path+name, map[string]any{"metadata": map[string]any{"name": name, "namespace": "ns",
				"labels": map[string]any{training.LabelOperator: "tfjob-controller", training.LabelJob: "a"}, "ownerReferences": []any{map[string]any{
					"apiVersion": apiVersion, "kind": kind, "name": owner, "uid": uid, "controller": true}}}})
		})
	}
	const jobs, pods = "/apis/batch/v1/namespaces/ns/jobs/", "/api/v1/namespaces/ns/pods/"
	uidAt := func(path string) (uid string) {
		s.locked(func() { uid, _ = s.At(path)["metadata"].(map[string]any)["uid"].(string) })
		return uid
	}
	child(jobs, "a-launcher", "TFJob", "kubeflow.org/v1beta2", "a", uidAt(jobsPath+"a"))
	child(pods, "a-launcher-x", "Job", "batch/v1", "a-launcher", uidAt(jobs+"a-launcher"))
	sees := func(phase string) func() bool {
		return func() bool {
			mu.Lock()
			defer mu.Unlock()
			return slices.ContainsFunc(last.Of(schema.Pods()), func(c schema.Child) bool {
				state, ok := c.Object.(*training.PodState)
				return ok && c.Name == "a-launcher-x" && string(state.Phase) == phase && string(c.Through) == uidAt(jobs+"a-launcher")
			})
		}
	}
	eventually(t, "the pod of the Job", sees(""))
	s.phase("a-launcher-x", "Running") // nothing else changes
	eventually(t, "its phase", sees("Running"))

	w := c.watchers[0]
	live, err := w.observeLive(t.Context(), w.objects.Get("ns/a"))
	if found := live.Of(schema.Pods()); err != nil || len(found) != 1 || string(found[0].Through) != uidAt(jobs+"a-launcher") {
		t.Errorf("read from the API server: %+v, %v", found, err)
	}
	s.locked(func() { s.drop(pods + "a-launcher-x") })
	eventually(t, "its end", func() bool { mu.Lock(); defer mu.Unlock(); return len(last.Of(schema.Pods())) == 0 })
}
