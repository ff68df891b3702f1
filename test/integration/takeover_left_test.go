package integration

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"stoic/schema"
	"stoic/training"
)

// leftJob is a job before this operator starts.
type leftJob struct {
	job      *unstructured.Unstructured
	replicas map[string]int
	pods     map[string]string // UIDs by name
	owned    []string          // pods whose owner is the job itself
}

// leftCases are the states in which jobs are left: the sections of the file that exist, the status, and whether the deciding pods
// have ended.
var leftCases = map[string]struct {
	sections    []string
	status      string
	over, stops bool
}{
	"running":   {sections: []string{"lasting", "first", "rest"}, status: "running.status"},
	"created":   {},
	"half":      {sections: []string{"lasting", "first"}},
	"finished":  {sections: []string{"lasting", "first", "rest"}, status: "finished.status", over: true},
	"suspended": {sections: []string{"lasting", "suspended"}, status: "suspended.status", stops: true},
}

// space returns the namespace of the jobs of a kind.
func (p predecessor) space() string { return p.kind.Singular + "-left" }

// section returns a section of the file, with the words for a job in it; empty if there is none.
func (p predecessor) section(t *testing.T, section, job string, uid string) string {
	t.Helper()
	archive, err := txtar.ParseFile(filepath.Join("testdata", "takeover", p.left))
	if err != nil {
		t.Fatal(err)
	}
	owner := fmt.Sprintf("{apiVersion: %s, kind: %s, name: %s, uid: %s, controller: true, blockOwnerDeletion: true}", p.kind.APIVersion(), p.kind.Name, job, uid)
	for _, f := range archive.Files {
		if f.Name == section {
			return strings.NewReplacer("{job}", job, "{ns}", p.space(), "{owner}", owner).Replace(string(f.Data))
		}
	}
	return ""
}

// store creates a job.
func (p predecessor) store(t *testing.T, r *rig, name string, stops bool) *unstructured.Unstructured {
	t.Helper()
	job := map[string]any{"apiVersion": p.kind.APIVersion(), "kind": p.kind.Name, "metadata": map[string]any{"name": name}}
	var spec map[string]any
	decode(t, p.section(t, "spec", name, ""), &spec)
	if stops {
		policy, _ := spec["runPolicy"].(map[string]any)
		if policy == nil {
			policy = map[string]any{}
		}
		policy["suspend"] = true
		spec["runPolicy"] = policy
	}
	job["spec"] = spec
	stored, err := r.jobs(p.space()).Create(context.Background(), &unstructured.Unstructured{Object: job}, metav1.CreateOptions{FieldValidation: "Strict"})
	if err != nil {
		t.Fatal(err)
	}
	return stored
}

func decode(t *testing.T, text string, to any) {
	t.Helper()
	if err := yaml.Unmarshal([]byte(text), to); err != nil {
		t.Fatalf("%v:\n%s", err, text)
	}
}

// leave stores a job for each case, with its objects and its status.
func (p predecessor) leave(t *testing.T, r *rig) map[string]leftJob {
	t.Helper()
	r.awaitEstablished(t, p.kind)
	r.namespace(t, p.space())
	left := map[string]leftJob{}
	for name, c := range leftCases {
		job := p.store(t, r, name, c.stops)
		objects := ""
		for _, section := range c.sections {
			objects += p.section(t, section, name, string(job.GetUID()))
		}
		for _, object := range strings.Split(objects, "---\n") {
			if object != "" {
				p.storeObject(t, r, object)
			}
		}
		if c.status != "" {
			var status map[string]any
			decode(t, p.section(t, c.status, name, ""), &status)
			job.Object["status"] = status
			if _, err := r.jobs(p.space()).UpdateStatus(context.Background(), job, metav1.UpdateOptions{FieldValidation: "Strict"}); err != nil {
				t.Fatal(err)
			}
		}
		left[name] = leftJob{}
	}
	return left
}

func (p predecessor) storeObject(t *testing.T, r *rig, text string) {
	t.Helper()
	var object map[string]any
	decode(t, text, &object)
	u := &unstructured.Unstructured{Object: object}
	for _, of := range []schema.Resource{schema.Pods(), schema.Services(), schema.ConfigMaps(), schema.Secrets(), schema.Jobs(),
		training.ServiceAccounts(), training.Roles(), training.RoleBindings()} {
		if of.Kind != u.GetKind() {
			continue
		}
		if _, err := r.client(of, p.space()).Create(context.Background(), u, metav1.CreateOptions{FieldValidation: "Strict"}); err != nil {
			t.Fatalf("%v:\n%s", err, text)
		}
		return
	}
	t.Fatalf("what is this?\n%s", text)
}

// settle waits until the pods agree with the status, and records what exists.
func (p predecessor) settle(t *testing.T, r *rig, left map[string]leftJob) {
	t.Helper()
	for name, c := range leftCases {
		await(t, "the pods of "+name+" to run", func() (bool, string) { return r.settled(t, p.space(), name, len(c.sections) > 2) })
		if c.over {
			p.end(t, r, name)
			await(t, "pods and Jobs of "+name+" to be over", func() (bool, string) { return p.over(t, r, name) })
		}
		job := r.raw(t, p.space(), name)
		was := leftJob{job: job, pods: r.pods(t, p.space(), name), owned: p.owned(t, r, name), replicas: map[string]int{}}
		rtypes, _, _ := unstructured.NestedMap(job.Object, "spec", p.kind.ReplicaSpecsField)
		for rtype := range rtypes {
			n, _, _ := unstructured.NestedInt64(rtypes, rtype, "replicas")
			was.replicas[rtype] = int(n)
		}
		left[name] = was
	}
}

// settled: the existing pods run. A launcher's Job has created its pod, if the whole job was created.
func (r *rig) settled(t *testing.T, ns, job string, all bool) (bool, string) {
	pods := r.podsWith(t, ns, training.LabelJob+"="+job)
	ok := true
	for _, pod := range pods {
		ok = ok && pod.Status.Phase == corev1.PodRunning
	}
	if launcher := r.batchJob(t, ns, job+"-launcher"); launcher != nil && all {
		ok = ok && launcher.Status.Active == 1 && launcher.Status.Ready != nil && *launcher.Status.Ready == 1
	}
	return ok, fmt.Sprint(len(pods), " pods")
}

func (p predecessor) over(t *testing.T, r *rig, job string) (bool, string) {
	ok := true
	for _, pod := range r.podsWith(t, p.space(), training.LabelJob+"="+job+",training.kubeflow.org/"+p.ends) {
		ok = ok && pod.Status.Phase == corev1.PodSucceeded
	}
	if launcher := r.batchJob(t, p.space(), job+"-launcher"); launcher != nil {
		complete := false
		for _, c := range launcher.Status.Conditions {
			complete = complete || c.Type == batchv1.JobComplete && c.Status == corev1.ConditionTrue
		}
		ok = ok && complete
	}
	return ok, "some that are not"
}

func (r *rig) podsWith(t *testing.T, ns, selector string) []corev1.Pod {
	t.Helper()
	list, err := r.typed.CoreV1().Pods(ns).List(context.Background(), metav1.ListOptions{LabelSelector: selector})
	if err != nil {
		t.Fatal(err)
	}
	return list.Items
}

// owned returns the pods whose owner is the job itself, and not its Job.
func (p predecessor) owned(t *testing.T, r *rig, job string) (names []string) {
	t.Helper()
	for _, pod := range r.podsWith(t, p.space(), training.LabelJob+"="+job) {
		if owner := metav1.GetControllerOf(&pod); owner != nil && owner.Kind == p.kind.Name {
			names = append(names, pod.Name)
		}
	}
	return names
}
