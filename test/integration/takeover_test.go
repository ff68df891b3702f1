package integration

import (
	"context"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"stoic/cli/cluster"
	"stoic/training"
	"stoic/training/kinds"
)

// predecessor is the operator that served a kind before this one.
type predecessor struct {
	kind *training.Kind
	// crd is the CRD that it installs, left the file that describes how it leaves a job.
	crd, left string
	// scales is the replica type that is scaled up by one, ends selects the pods with which a job ends.
	scales, ends string
	// adopts are the writes to objects of a running job. Its pods get none.
	adopts []string
}

func predecessors() (all []predecessor) {
	ends := map[string]string{"PyTorchJob": "replica-type=master", "XGBoostJob": "replica-type=master", "MPIJob": "job-role in (master, launcher)"}
	for _, kind := range kinds.Served() {
		p := predecessor{kind: kind, crd: kind.Plural + "-v1.9.4-written.yaml", left: kind.Plural + ".txtar", scales: "Worker", ends: "replica-type=worker"}
		if label, other := ends[kind.Name]; other {
			p.ends = label
		}
		switch {
		case kind.Version == "v2beta1":
			p.crd, p.left = "mpijobs-v2beta1-v0.8-written.yaml", "mpijobs-v2beta1.txtar"
			p.adopts = []string{"patch configmaps", "patch jobs"} // labels; the Job must not be deleted before the MPIJob
		case kind.Name == "MPIJob":
			p.adopts = []string{"patch configmaps", "patch rolebindings", "patch roles", "patch serviceaccounts"} // labels
		}
		all = append(all, p)
	}
	return all
}

// TestTakeOver: jobs of every kind as training-operator v1.9.4 and mpi-operator 0.8 leave them, with all their objects, continue
// under this operator. None of their pods is written, deleted or recreated.
func TestTakeOver(t *testing.T) {
	full(t)
	for _, one := range []struct {
		name   string
		serves func(*training.Kind) bool
		more   []string // permissions
	}{
		{"training-operator", func(k *training.Kind) bool { return k.Version == "v1" }, nil},
		{"mpi-operator", func(k *training.Kind) bool { return k.Version != "v1" }, []string{"deploy/mpijob-v2beta1/rbac.yaml"}},
	} {
		t.Run(one.name, func(t *testing.T) {
			t.Parallel() // it mostly waits
			all := slices.DeleteFunc(predecessors(), func(p predecessor) bool { return !one.serves(p.kind) })
			var crds []string
			for _, p := range all {
				crds = append(crds, filepath.Join(root, "test/fixtures", p.crd))
			}
			r := bareRig(t, cluster.Options{CRDs: crds})
			r.permit(t, one.more...)
			takeOver(t, r, all)
		})
	}
}

func takeOver(t *testing.T, r *rig, all []predecessor) {
	left := map[string]map[string]leftJob{}
	for _, p := range all {
		left[p.kind.Name] = p.leave(t, r.of(p.kind))
	}
	for _, p := range all {
		p.settle(t, r.of(p.kind), left[p.kind.Name])
	}
	r.operator(t, "")
	cases := map[string]func(*testing.T, *rig){}
	for _, p := range all {
		cases[p.kind.Name] = func(t *testing.T, r *rig) { p.takenOver(t, r.of(p.kind), left[p.kind.Name]) }
	}
	t.Run("kinds", func(t *testing.T) { sideBySide(t, r, cases) })
	nothingIsForbidden(t, r)
}

// takenOver: each job is reconciled, and then succeeds. The writes on the way are the differences between the operators.
func (p predecessor) takenOver(t *testing.T, r *rig, left map[string]leftJob) {
	ns := p.space()
	p.store(t, r, "later", false)
	r.awaitState(t, ns, "later", training.Running) // so what existed before has been reconciled
	p.selected(t, r, "running", left["running"])
	for _, name := range []string{"finished", "suspended"} {
		p.unwritten(t, r, name, left[name])
	}
	if p.adopts == nil { // dependents beside the pods of other kinds are written in later reconciles, too
		p.writes(t, r, "running", nil)
	}
	t.Run("cases", func(t *testing.T) {
		sideBySide(t, r, map[string]func(*testing.T, *rig){
			"running":      func(t *testing.T, r *rig) { p.goesOn(t, r, left["running"]) },
			"just created": func(t *testing.T, r *rig) { p.runs(t, r, "created", left["created"]) },
			"half-created": func(t *testing.T, r *rig) { p.runs(t, r, "half", left["half"]) },
			"suspended":    func(t *testing.T, r *rig) { p.resumes(t, r, left["suspended"]) },
		})
	})
	p.unwritten(t, r, "finished", left["finished"])
	p.created(t, r, left)
}

// goesOn: a running job gets one more replica, and ends. Its start time is that of the former operator.
func (p predecessor) goesOn(t *testing.T, r *rig, was leftJob) {
	ns := p.space()
	p.patch(t, r, "running", fmt.Sprintf(`{"spec":{%q:{%q:{"replicas":%d}}}}`, p.kind.ReplicaSpecsField, p.scales, was.replicas[p.scales]+1))
	await(t, "one more pod", func() (bool, string) {
		pods := r.pods(t, ns, "running")
		return len(pods) == len(was.pods)+1, fmt.Sprint(pods)
	})
	await(t, "it to run", func() (bool, string) {
		counts := r.head(t, ns, "running").Status.ReplicaStatuses
		return int(counts[p.scales].Active) == was.replicas[p.scales]+1, fmt.Sprint(counts)
	})
	r.checkKept(t, ns, "running", was.pods)
	p.end(t, r, "running")
	head := r.awaitState(t, ns, "running", training.Succeeded)
	want := strings.ReplaceAll("Created=True(KINDCreated) Running=False(KINDRunning) Succeeded=True(KINDSucceeded)", "KIND", p.kind.Name)
	if got := describe(&head.Status); got != want {
		t.Errorf("conditions: %s, want %s", got, want)
	}
	was.replicas[p.scales]++
	for rtype, n := range was.replicas {
		want := training.ReplicaStatus{Succeeded: int32(n), Selector: head.Status.ReplicaStatuses[rtype].Selector} // with what was active
		if p.kind.Name == "MPIJob" && rtype == "Worker" {
			want.Succeeded = 0 // workers do not count when the launcher ends
		}
		if diff := cmp.Diff(want, head.Status.ReplicaStatuses[rtype]); diff != "" {
			t.Errorf("%s (-want +got):\n%s", rtype, diff)
		}
	}
	if at := head.Status.StartTime.UTC().Format("2006-01-02T15:04:05Z"); at != "2026-01-01T00:00:01Z" {
		t.Errorf("it started at %s", at)
	}
	r.checkKept(t, ns, "running", was.pods)
	p.writes(t, r, "running", p.adopts)
}

// runs: what is missing is created, and what exists stays.
func (p predecessor) runs(t *testing.T, r *rig, name string, was leftJob) {
	r.awaitState(t, p.space(), name, training.Running)
	r.checkKept(t, p.space(), name, was.pods)
	p.end(t, r, name)
	r.awaitState(t, p.space(), name, training.Succeeded)
	r.checkKept(t, p.space(), name, was.pods)
}

func (p predecessor) resumes(t *testing.T, r *rig, was leftJob) {
	p.patch(t, r, "suspended", `{"spec":{"runPolicy":{"suspend":false}}}`)
	p.runs(t, r, "suspended", was)
	head := r.head(t, p.space(), "suspended")
	if c := head.Status.Condition(training.Suspended); c == nil || c.Status != metav1.ConditionFalse || c.Reason != p.kind.Name+"Resumed" {
		t.Errorf("conditions: %s", describe(&head.Status))
	}
}

// unwritten: the job and its pods have not changed.
func (p predecessor) unwritten(t *testing.T, r *rig, name string, was leftJob) {
	t.Helper()
	if now := r.raw(t, p.space(), name); now.GetResourceVersion() != was.job.GetResourceVersion() {
		t.Errorf("%s was written to (-before +after):\n%s", name, cmp.Diff(was.job.Object, now.Object))
	}
	if diff := cmp.Diff(was.pods, r.pods(t, p.space(), name)); diff != "" {
		t.Errorf("pods of %s (-before +after):\n%s", name, diff)
	}
}

// selected: one write added the selectors of the scale subresource to the status of a running job, if the former operator wrote
// none for its kind. Nothing else of the job has changed, and nothing of its pods.
func (p predecessor) selected(t *testing.T, r *rig, name string, was leftJob) {
	t.Helper()
	var want *unstructured.Unstructured
	await(t, name+" to have selectors", func() (bool, string) {
		now := r.raw(t, p.space(), name)
		want = was.job.DeepCopy()
		statuses, _, _ := unstructured.NestedMap(now.Object, "status", "replicaStatuses")
		for rtype := range statuses {
			path := []string{"status", "replicaStatuses", rtype, "selector"}
			selector, _, _ := unstructured.NestedString(now.Object, path...)
			if selector == "" {
				return false, fmt.Sprint(statuses)
			}
			if err := unstructured.SetNestedField(want.Object, selector, path...); err != nil {
				t.Fatal(err)
			}
		}
		return true, ""
	})
	now := r.raw(t, p.space(), name)
	wantWrites := 1
	if cmp.Equal(was.job.Object["status"], want.Object["status"]) {
		wantWrites = 0
	}
	if found := p.writesTo(t, r, name); found != wantWrites {
		t.Errorf("%s was written to %d times, want %d", name, found, wantWrites)
	}
	for _, job := range []*unstructured.Unstructured{want, now} {
		job.SetResourceVersion("")
		job.SetManagedFields(nil)
	}
	if diff := cmp.Diff(want.Object, now.Object); diff != "" {
		t.Errorf("%s has changed (-want +got):\n%s", name, diff)
	}
	if diff := cmp.Diff(was.pods, r.pods(t, p.space(), name)); diff != "" {
		t.Errorf("pods of %s (-before +after):\n%s", name, diff)
	}
}

// writesTo returns the number of writes of the operator to a job.
func (p predecessor) writesTo(t *testing.T, r *rig, name string) (n int) {
	t.Helper()
	for _, q := range writes(r.requestsIn(t, p.space())) {
		if q.ObjectRef.Resource == p.kind.Plural && q.ObjectRef.Name == name {
			n++
		}
	}
	return n
}

// writes returns the writes to existing objects of a job, once each, without those to the job itself and to new objects.
func (p predecessor) writes(t *testing.T, r *rig, job string, want []string) {
	t.Helper()
	found := map[string]bool{}
	for _, q := range writes(r.requestsIn(t, p.space())) {
		if ref := q.ObjectRef; q.Verb != "create" && ref.Resource != p.kind.Plural && (ref.Name == job || strings.HasPrefix(ref.Name, job+"-")) {
			found[q.Verb+" "+strings.TrimSuffix(ref.Resource+"/"+ref.Subresource, "/")] = true
		}
	}
	if diff := cmp.Diff(want, slices.Sorted(maps.Keys(found))); diff != "" {
		t.Errorf("writes to what %s had (-want +got):\n%s", job, diff)
	}
}

// created: the only writes of pods were creations, each of a pod that was missing.
func (p predecessor) created(t *testing.T, r *rig, left map[string]leftJob) {
	t.Helper()
	before, made := 0, 0
	for _, was := range left {
		before += len(was.owned)
	}
	for _, q := range writes(r.requestsIn(t, p.space())) {
		if q.ObjectRef.Resource != "pods" {
			continue
		}
		if made++; q.Verb != "create" || q.ResponseStatus.Code != 201 {
			t.Errorf("%s %s: %d", q.Verb, q.RequestURI, q.ResponseStatus.Code)
		}
	}
	now := 0
	for name := range left {
		now += len(p.owned(t, r, name))
	}
	if now += len(p.owned(t, r, "later")); made != now-before {
		t.Errorf("%d pods were made, want %d: there were %d, and there are %d", made, now-before, before, now)
	}
}

func (p predecessor) patch(t *testing.T, r *rig, name, patch string) {
	t.Helper()
	mergePatch(t, r.jobs(p.space()), name, patch)
}

// end lets the deciding pods succeed.
func (p predecessor) end(t *testing.T, r *rig, name string) {
	t.Helper()
	pods := r.podsWith(t, p.space(), training.LabelJob+"="+name+",training.kubeflow.org/"+p.ends)
	if len(pods) == 0 {
		t.Fatalf("%s has no pods that decide", name)
	}
	for _, pod := range pods {
		const patch = `{"metadata":{"annotations":{"simulation.stoic/exit-code":"0"}}}`
		if _, err := r.typed.CoreV1().Pods(p.space()).Patch(context.Background(), pod.Name, types.MergePatchType, []byte(patch), metav1.PatchOptions{}); err != nil {
			t.Fatal(err)
		}
	}
}
