package history

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/yaml"
)

// resource returns the resource of a kind that these tests use.
func resource(kind string) schema.GroupVersionResource {
	switch kind {
	case "TFJob":
		return schema.GroupVersionResource{Group: "kubeflow.org", Version: "v1", Resource: "tfjobs"}
	case "PodGroup":
		return schema.GroupVersionResource{Group: "scheduling.volcano.sh", Version: "v1beta1", Resource: "podgroups"}
	}
	return schema.GroupVersionResource{Version: "v1", Resource: strings.ToLower(kind) + "s"}
}

// object returns an object of a kind; more is YAML at the top level.
func object(t *testing.T, kind, name, uid string, version int, more string) *unstructured.Unstructured {
	t.Helper()
	u := &unstructured.Unstructured{}
	text, err := yaml.YAMLToJSON([]byte(more))
	if err == nil {
		err = json.Unmarshal(text, &u.Object) // whole numbers as they come from an API server
	}
	if err != nil {
		t.Fatal(err)
	}
	if u.Object == nil {
		u.Object = map[string]any{}
	}
	u.SetAPIVersion(resource(kind).GroupVersion().String())
	u.SetKind(kind)
	u.SetNamespace("ns")
	u.SetName(name)
	u.SetUID(types.UID(uid))
	u.SetResourceVersion(fmt.Sprint(version))
	return u
}

// tell reports an object to a recorder.
func tell(r *Recorder, kind watch.EventType, u *unstructured.Unstructured) {
	r.tell(kind, resource(u.GetKind()), u)
}

// subjectOf returns the subject of these tests: a job.
func subjectOf(job string) Subject {
	return Subject{Resource: resource("TFJob"), Namespace: "ns", Name: job}
}

func names(list []*unstructured.Unstructured) (found []string) {
	for _, u := range list {
		found = append(found, u.GetName())
	}
	return found
}

// TestRun: a run has the versions of its job that were reported before and after it was requested, none of other jobs, and those
// of another object of the same name.
func TestRun(t *testing.T) {
	r := newRecorder()
	tell(r, watch.Added, object(t, "TFJob", "job", "j", 1, ""))
	tell(r, watch.Added, object(t, "TFJob", "job-like", "x", 2, ""))
	tell(r, watch.Added, object(t, "Pod", "job-worker-0", "p", 4, ""))
	l := r.RunOf(subjectOf("job"))
	tell(r, watch.Added, object(t, "Service", "job-worker-0", "s", 3, ""))
	tell(r, watch.Added, object(t, "PodGroup", "job", "g", 5, ""))
	tell(r, watch.Added, object(t, "Event", "e", "e", 6, "involvedObject: {name: job-worker-0}"))
	tell(r, watch.Added, object(t, "Event", "f", "f", 7, "involvedObject: {name: jobs}"))
	tell(r, watch.Deleted, object(t, "Pod", "job-worker-0", "p", 9, ""))
	tell(r, watch.Added, object(t, "Pod", "job-worker-0", "q", 10, ""))
	v := l.View()
	got := []any{v.Job.GetName(), names(v.Pods), names(v.Services), names(v.Dependents), names(v.Events), v.Incarnations["p"], v.Incarnations["q"], string(v.Pods[0].GetUID())}
	want := []any{"job", []string{"job-worker-0"}, []string{"job-worker-0"}, []string{"job"}, []string{"e"}, 1, 2, "q"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the view (-want +got):\n%s", diff)
	}
	var order []string
	for _, v := range l.Versions() {
		order = append(order, v.Object.GetResourceVersion())
	}
	if diff := cmp.Diff([]string{"1", "3", "4", "5", "6", "9", "10"}, order); diff != "" {
		t.Errorf("the order (-want +got):\n%s", diff)
	}
	r.Forget(subjectOf("job"))
	tell(r, watch.Modified, object(t, "Pod", "job-worker-0", "q", 11, ""))
	if n := len(r.RunOf(subjectOf("job")).Versions()); n != 0 {
		t.Errorf("%d versions after it was forgotten", n)
	}
	if n := len(r.RunOf(subjectOf("job-like")).Versions()); n != 1 {
		t.Errorf("%d versions of the other job, want 1", n)
	}
}

// TestRunInManyNamespaces: the dependents of an object may be in several namespaces, with equal names, and the object itself may
// be cluster-scoped. Objects of others in these namespaces are no part of the run.
func TestRunInManyNamespaces(t *testing.T) {
	in := func(namespace string, u *unstructured.Unstructured) *unstructured.Unstructured {
		u.SetNamespace(namespace)
		return u
	}
	for name, s := range map[string]Subject{
		"namespaced":     {Resource: resource("FooBar"), Namespace: "ns", Name: "x", Also: []string{"there"}},
		"cluster-scoped": {Resource: resource("FooBar"), Name: "x", Also: []string{"ns", "there"}},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRecorder()
			tell(r, watch.Added, in("there", object(t, "ConfigMap", "x-a", "a", 1, "")))
			tell(r, watch.Added, in("there", object(t, "ConfigMap", "y-a", "other", 2, "")))
			l := r.RunOf(s)
			tell(r, watch.Added, in(s.Namespace, object(t, "FooBar", "x", "f", 3, "")))
			tell(r, watch.Added, in(s.Namespace, object(t, "FooBar", "x-y", "g", 4, "")))
			tell(r, watch.Added, in("ns", object(t, "ConfigMap", "x-a", "b", 5, "")))
			tell(r, watch.Added, in("elsewhere", object(t, "ConfigMap", "x-a", "c", 6, "")))
			v := l.View()
			var found []string
			for _, u := range v.Children() {
				found = append(found, fmt.Sprint(u.GetNamespace(), "/", u.GetName(), " ", u.GetUID(), " ", v.Incarnations[u.GetUID()]))
			}
			if diff := cmp.Diff([]string{"ns/x-a b 1", "there/x-a a 1"}, found); diff != "" || v.Job.GetUID() != "f" {
				t.Errorf("the object %s, its dependents (-want +got):\n%s", v.Job.GetUID(), diff)
			}
			if got := l.ResourceOf("b"); got != resource("ConfigMap") {
				t.Errorf("the resource of a ConfigMap: %v", got)
			}
			r.miss(resource("ConfigMap"), "a reason")
			if n := len(l.Gaps()); n != 1 {
				t.Errorf("%d gaps, want 1", n)
			}
			r.Forget(s)
			tell(r, watch.Deleted, in("there", object(t, "ConfigMap", "x-a", "a", 7, "")))
			if n := len(r.RunOf(s).Versions()); n != 0 {
				t.Errorf("%d versions after it was forgotten", n)
			}
		})
	}
}

// TestAwait: a version wakes it, and without one it reports what it saw last.
func TestAwait(t *testing.T) {
	r := newRecorder()
	l := r.RunOf(subjectOf("job"))
	there := func(v View) (bool, string) { return len(v.Pods) > 0, fmt.Sprintf("%d pods", len(v.Pods)) }
	done := make(chan error)
	go func() { done <- l.Await(context.Background(), "a pod", there) }()
	tell(r, watch.Added, object(t, "Pod", "job-worker-0", "p", 1, ""))
	if err := <-done; err != nil {
		t.Error(err)
	}
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	tell(r, watch.Deleted, object(t, "Pod", "job-worker-0", "p", 2, ""))
	if err := l.Await(ended, "a pod", there); !errors.Is(err, context.Canceled) || !strings.Contains(err.Error(), "wait for a pod") || !strings.Contains(err.Error(), "0 pods") {
		t.Errorf("the error is %v", err)
	}
	if err := l.AwaitReported(context.Background(), object(t, "Pod", "job-worker-0", "p", 2, "")); err != nil {
		t.Error(err)
	}
	if err := l.AwaitReported(ended, object(t, "Pod", "job-worker-0", "p", 3, "")); err == nil {
		t.Error("a version that was not told was")
	}
}

// TestQuiet: a change restarts the wait.
func TestQuiet(t *testing.T) {
	r := newRecorder()
	l := r.RunOf(subjectOf("job"))
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	if err := l.Quiet(ended, time.Hour); !errors.Is(err, context.Canceled) {
		t.Errorf("the error is %v", err)
	}
	if err := l.Quiet(context.Background(), time.Millisecond); err != nil {
		t.Error(err)
	}
}

// TestResourcesOfARun: an object of a resource that is watched for other runs is no part of a run, whatever its name.
func TestResourcesOfARun(t *testing.T) {
	pods, jobs := schema.GroupVersionResource{Version: "v1", Resource: "pods"}, schema.GroupVersionResource{Group: "batch", Version: "v1", Resource: "jobs"}
	pod := &unstructured.Unstructured{Object: map[string]any{"kind": "Pod", "metadata": map[string]any{"namespace": "ns", "name": "j-0"}}}
	for _, c := range []struct {
		of   []schema.GroupVersionResource
		want bool
	}{{nil, true}, {[]schema.GroupVersionResource{jobs}, false}, {[]schema.GroupVersionResource{jobs, pods}, true}} {
		s := Subject{Resource: jobs, Namespace: "ns", Name: "j", Of: c.of}
		if got := s.takes(Version{Resource: pods, Object: pod}); got != c.want {
			t.Errorf("a run of %v takes a pod: %v, want %v", c.of, got, c.want)
		}
	}
}
