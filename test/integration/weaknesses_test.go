package integration

import (
	"context"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"stoic/schema"
	"stoic/training"
	"stoic/training/kinds"
)

// TestWeaknesses: weaknesses of training-operator 1.9 that are visible only between an operator and an API server. The rows of
// docs/reference/contract.md name the parts.
func TestWeaknesses(t *testing.T) {
	quick(t)
	t.Parallel() // it mostly waits
	r := shared(t)
	t.Run("parts", func(t *testing.T) {
		sideBySide(t, r, map[string]func(*testing.T, *rig){
			"managedBy is immutable":             managerIsImmutable,
			"deleted dependents are made again":  dependentsAreRepaired,
			"log lines do not grow with the job": logStaysShort,
		})
	})
	t.Run("only selected objects are read", func(t *testing.T) { onlySelectedIsRead(t, r, "repaired-dependents") })
}

// managerIsImmutable (W21): managedBy of a job of any kind cannot be changed, neither by an edit nor by a patch.
func managerIsImmutable(t *testing.T, r *rig) {
	ns := r.namespace(t, "managed")
	const ours, others = "kubeflow.org/training-operator", "kueue.x-k8s.io/multikueue"
	for _, kind := range kinds.All() {
		rtypes := "Worker: ROLE"
		for _, rtype := range kind.ReplicaTypes {
			if rtype.Required {
				rtypes += ", " + rtype.Name + ": ROLE"
			}
		}
		rtypes = strings.ReplaceAll(rtypes, "ROLE", "{template: {spec: {containers: [{name: "+kind.Container+", image: i}]}}}")
		for _, c := range [][2]string{{ours, others}, {others, ours}} {
			name := strings.ToLower(kind.Name) + "-" + c[0][:4]
			r.apply(t, ns, fmt.Sprintf("apiVersion: kubeflow.org/v1\nkind: %s\nmetadata: {name: %s}\nspec: {runPolicy: {managedBy: %s}, %s: {%s}}\n",
				kind.Name, name, c[0], kind.ReplicaSpecsField, rtypes))
			out, err := r.tryKubectl(nil, "-n", ns, "patch", kind.Plural, name, "--type=merge", "-p", `{"spec":{"runPolicy":{"managedBy":"`+c[1]+`"}}}`)
			if err == nil || !strings.Contains(out, "managedBy is immutable") {
				t.Errorf("%s %s: its manager is changed from %s to %s: %v %s", kind.Name, name, c[0], c[1], err, out)
			}
			if is := r.kubectl(t, nil, "-n", ns, "get", kind.Plural, name, "-o", "jsonpath={.spec.runPolicy.managedBy}"); is != c[0] {
				t.Errorf("%s %s: its manager is %q", kind.Name, name, is)
			}
		}
	}
}

// dependentsAreRepaired (W52): each dependent that another client deletes is recreated, once and without another trigger: a
// service, a pod, a PodGroup and an autoscaler.
func dependentsAreRepaired(t *testing.T, r *rig) {
	ns := r.namespace(t, "repaired-dependents")
	r.operator(t, ns, "--gang-scheduler-name", "volcano")
	r.apply(t, ns, strings.Replace(elastic("job", "metrics: []", ""), "        spec:\n", "        spec:\n          schedulerName: default-scheduler\n", 1))
	r.awaitDependent(t, training.PodGroups(), ns, "job", true)
	r.phase(t, ns, "job", "Running")
	pods, services := schema.Resource{Version: "v1", Plural: "pods", Kind: "Pod"}, schema.Resource{Version: "v1", Plural: "services", Kind: "Service"}
	dependents := []struct {
		resource schema.Resource
		name     string
	}{{services, "job-worker-0"}, {pods, "job-worker-0"}, {training.PodGroups(), "job"}, {training.Autoscalers(), "job"}}
	for _, d := range dependents {
		before := r.awaitDependent(t, d.resource, ns, d.name, true)
		if err := r.client(d.resource, ns).Delete(context.Background(), d.name, metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
		await(t, "another "+d.resource.Kind, func() (bool, string) {
			now, err := r.client(d.resource, ns).Get(context.Background(), d.name, metav1.GetOptions{})
			return err == nil && now.GetUID() != before.GetUID() && now.GetDeletionTimestamp() == nil, fmt.Sprint(err)
		})
	}
	for _, d := range dependents {
		if n := r.written(t, ns, "create", d.resource.Plural); n != 2 {
			t.Errorf("%d requests to create %s, want 2: one at first, one after the deletion", n, d.resource.Plural)
		}
	}
}

// logStaysShort (W45): at the default level the log has one line for each state of a job that the operator has written, whether
// the job has two pods or twenty; no line of a single pod, and none after the job is deleted.
func logStaysShort(t *testing.T, r *rig) {
	ns := r.namespace(t, "logged")
	p := r.operator(t, ns)
	lines := func(job string) (found []string) {
		for line := range strings.Lines(p.Text()) {
			if strings.Contains(line, job) {
				found = append(found, line)
			}
		}
		return found
	}
	for name, replicas := range map[string]int{"narrow": 2, "broad": 20} {
		r.apply(t, ns, manifest(name, worker("", fmt.Sprintf("replicas: %d", replicas))))
		r.awaitState(t, ns, name, training.Succeeded)
		await(t, "the line of the end", func() (bool, string) { // it is logged after the answer of the API server
			found := lines(name)
			return slices.ContainsFunc(found, func(line string) bool { return strings.Contains(line, `"summary":"Succeeded `) }), fmt.Sprint(found)
		})
	}
	narrow, broad := lines("narrow"), lines("broad")
	for _, found := range [][]string{narrow, broad} {
		states := []string{`"summary":"Created `, `"summary":"Running `, `"summary":"Succeeded `} // Running is missing if the pods are faster
		for _, line := range found {
			i := slices.IndexFunc(states, func(s string) bool { return strings.Contains(line, s) })
			if i < 0 {
				t.Errorf("a line that says no state, or one that an earlier line has said: %s", line)
				continue
			}
			states = slices.Delete(states, i, i+1)
		}
		if len(found) < 2 {
			t.Errorf("%d lines of a job, want those of its beginning and its end; the log:\n%s", len(found), p.Text())
		}
	}
	r.kubectl(t, nil, "-n", ns, "delete", "tfjobs", "narrow", "broad")
	r.awaitPods(t, ns, "broad", 0)
	r.awaitPods(t, ns, "narrow", 0)
	r.apply(t, ns, manifest("later", worker("", ""))) // the operator reconciles it after it has seen the deletions
	r.awaitState(t, ns, "later", training.Succeeded)
	for _, line := range append(lines("narrow"), lines("broad")...) {
		if strings.Contains(line, "-worker-") {
			t.Errorf("a line of one pod: %s", line)
		}
	}
	if after := len(lines("narrow")) + len(lines("broad")); after != len(narrow)+len(broad) {
		t.Errorf("%d lines of the jobs after their deletion, %d before", after, len(narrow)+len(broad))
	}
}

// onlySelectedIsRead (W32): of the resources that operators create, they list and watch only objects with their label; of other
// resources they list and watch nothing. So a cluster with many foreign pods costs them nothing.
func onlySelectedIsRead(t *testing.T, r *rig, ns string) {
	var whole []string // what is read without a label
	for _, kind := range kinds.All() {
		whole = append(whole, kind.Plural)
	}
	selected := []string{"pods", "services", "podgroups", "horizontalpodautoscalers",
		"configmaps", "serviceaccounts", "roles", "rolebindings"} // of MPIJobs
	seen := map[string]int{}
	for _, q := range r.requestsIn(t, ns) {
		if q.Verb != "list" && q.Verb != "watch" || q.ResponseStatus.Code == 404 {
			continue
		}
		resource := q.ObjectRef.Resource
		seen[resource]++
		u, err := url.Parse(q.RequestURI)
		if err != nil {
			t.Fatal(err)
		}
		query := u.Query()
		switch {
		case slices.Contains(whole, resource):
		case !slices.Contains(selected, resource):
			t.Errorf("it reads %s: %s", resource, q.RequestURI)
		case !strings.Contains(query.Get("labelSelector"), training.LabelOperator) && !strings.HasPrefix(query.Get("fieldSelector"), "metadata.name="):
			t.Errorf("it reads all %s: %s", resource, q.RequestURI)
		}
	}
	for _, resource := range slices.Concat([]string{"tfjobs"}, selected) {
		if seen[resource] == 0 {
			t.Errorf("no list or watch of %s in the audit log", resource)
		}
	}
}
