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
	events := watch.NewFakeWithChanSize(1, false)
	events.Action(kind, u)
	events.Stop()
	r.follow(resource(u.GetKind()), events)
}

// aSubject returns the subject of these tests: a job.
func aSubject(job string) Subject {
	return Subject{Resource: resource("TFJob"), Namespace: "ns", Name: job}
}

func names(list []*unstructured.Unstructured) (found []string) {
	for _, u := range list {
		found = append(found, u.GetName())
	}
	return found
}

// TestRun: a run has the versions of its job and of what belongs to it, in every namespace, and none of other jobs.
func TestRun(t *testing.T) {
	r := newRecorder()
	l := r.RunOf(aSubject("job"))
	elsewhere := object(t, "ConfigMap", "job-a", "c", 8, "")
	elsewhere.SetNamespace("elsewhere")
	for _, u := range []*unstructured.Unstructured{
		object(t, "TFJob", "job", "j", 1, ""), object(t, "TFJob", "jobs", "x", 2, ""), object(t, "Pod", "job-worker-0", "p", 4, ""),
		object(t, "Service", "job-worker-0", "s", 3, ""), object(t, "PodGroup", "job", "g", 5, ""), elsewhere,
		object(t, "Event", "e", "e", 6, "involvedObject: {name: job-worker-0}"), object(t, "Event", "f", "f", 7, "involvedObject: {name: jobs}"),
	} {
		tell(r, watch.Added, u)
	}
	tell(r, watch.Deleted, object(t, "Pod", "job-worker-0", "p", 9, ""))
	tell(r, watch.Added, object(t, "Pod", "job-worker-0", "q", 10, ""))
	v := l.View()
	got := []any{v.Job.GetName(), names(v.Pods), names(v.Services), names(v.Dependents), names(v.Events), v.Incarnations["p"], v.Incarnations["q"], string(v.Pods[0].GetUID())}
	want := []any{"job", []string{"job-worker-0"}, []string{"job-worker-0"}, []string{"job", "job-a"}, []string{"e"}, 1, 2, "q"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the view (-want +got):\n%s", diff)
	}
	var order []string
	for _, v := range l.Versions() {
		order = append(order, v.Object.GetResourceVersion())
	}
	if diff := cmp.Diff([]string{"1", "3", "4", "5", "6", "8", "9", "10"}, order); diff != "" {
		t.Errorf("the order (-want +got):\n%s", diff)
	}
	if got := l.ResourceOf("c"); got != resource("ConfigMap") {
		t.Errorf("the resource of a ConfigMap: %v", got)
	}
	r.Forget(aSubject("job"))
	tell(r, watch.Modified, object(t, "Pod", "job-worker-0", "q", 11, ""))
	if n := len(l.Versions()); n != 8 {
		t.Errorf("%d versions after it was forgotten", n)
	}
	if tell(r, watch.Error, object(t, "Pod", "x", "x", 1, "")); r.Err() == nil {
		t.Error("a watch that ended is not reported")
	}
}

// TestAwait: a version wakes it, and without one it reports what it saw last.
func TestAwait(t *testing.T) {
	r := newRecorder()
	l := r.RunOf(aSubject("job"))
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
	l := r.RunOf(aSubject("job"))
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	if err := l.Quiet(ended, time.Hour); !errors.Is(err, context.Canceled) {
		t.Errorf("the error is %v", err)
	}
	if err := l.Quiet(context.Background(), time.Millisecond); err != nil {
		t.Error(err)
	}
}
