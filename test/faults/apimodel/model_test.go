package apimodel

import (
	"net/http"
	"strings"
	"testing"
	"time"
)

const (
	podPath = "/api/v1/namespaces/a/pods"
	jobPath = "/apis/kubeflow.org/v1/namespaces/a/tfjobs"
	aPod    = `{"metadata":{"name":"p","labels":{"x":"y"}},"spec":{"containers":[{"name":"c","image":"i"}]}}`
)

func served() []Resource {
	return []Resource{
		{Version: "v1", Plural: "pods", Kind: "Pod", Status: true, Namespaced: true},
		{Version: "v1", Plural: "services", Kind: "Service", Status: true, Namespaced: true},
		{Version: "v1", Plural: "configmaps", Kind: "ConfigMap", Namespaced: true},
		{Group: "kubeflow.org", Version: "v1", Plural: "tfjobs", Kind: "TFJob", Status: true, Namespaced: true},
	}
}

func noon() time.Time { return time.Date(2024, 1, 2, 12, 0, 0, 0, time.UTC) }

// ask sends a request and fails unless it is answered with the code.
func ask(t *testing.T, w *Model, want int, method, path, contentType, body string) map[string]any {
	t.Helper()
	r, err := http.NewRequest(method, "http://model"+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", contentType)
	code, answer := w.Do(r)
	if code != want {
		t.Fatalf("%s %s: %d %s, want %d", method, path, code, answer, want)
	}
	tree, err := parse(answer)
	if err != nil {
		t.Fatal(err)
	}
	return tree
}

const (
	jsonType  = "application/json"
	mergeType = "application/merge-patch+json"
)

func TestPodLifecycle(t *testing.T) {
	w := New(noon, served()...)
	ask(t, w, 201, "POST", podPath, jsonType, aPod)
	ask(t, w, 409, "POST", podPath, jsonType, aPod)
	ask(t, w, 200, "PATCH", podPath+"/p", mergeType, `{"metadata":{"labels":{"x":"z"}}}`)
	if v := w.Version(); v != start+2 {
		t.Fatalf("version %d after two commits, want %d", v, start+2)
	}
	ask(t, w, 200, "PATCH", podPath+"/p", mergeType, `{"metadata":{"labels":{"x":"z"}}}`)
	if v := w.Version(); v != start+2 {
		t.Fatalf("a patch that changes nothing made version %d", v)
	}
	ask(t, w, 409, "DELETE", podPath+"/p", jsonType, `{"preconditions":{"uid":"other"}}`)
	ask(t, w, 200, "DELETE", podPath+"/p", jsonType, `{}`)
	ask(t, w, 404, "GET", podPath+"/p", jsonType, "")
	var reported []string
	for _, c := range w.Changes(0) {
		reported = append(reported, c.Type)
	}
	if got := strings.Join(reported, " "); got != "ADDED MODIFIED MODIFIED DELETED" {
		t.Errorf("watchers are told %s", got)
	}
}

func TestPastAndCompaction(t *testing.T) {
	w := New(noon, served()...)
	ask(t, w, 201, "POST", podPath, jsonType, aPod)
	ask(t, w, 200, "DELETE", podPath+"/p", jsonType, `{}`)
	past := podPath + "?resourceVersionMatch=Exact&resourceVersion=101"
	if items, _ := ask(t, w, 200, "GET", past, "", "")["items"].([]any); len(items) != 1 || Get(items[0].(map[string]any), "metadata", "name") != "p" {
		t.Errorf("at version 101 there were %v", items)
	}
	w.Compact(102)
	ask(t, w, 410, "GET", past, "", "")
	ask(t, w, 504, "GET", podPath+"?resourceVersion=999", "", "")
}

// TestClosedNamespace: a controller cannot create objects in a namespace that is being deleted.
func TestClosedNamespace(t *testing.T) {
	w := New(noon, served()...)
	w.Close("a")
	refused := ask(t, w, 403, "POST", podPath, jsonType, aPod)
	causes, _ := Get(refused, "details", "causes").([]any)
	if len(causes) != 1 || Get(causes[0].(map[string]any), "reason") != "NamespaceTerminating" {
		t.Errorf("it is refused because of %v", causes)
	}
}

// TestCollectorComesToRest: the collector comes to rest, whatever it does first, and always in the same state.
func TestCollectorComesToRest(t *testing.T) {
	w := New(noon, served()...)
	owner := ask(t, w, 201, "POST", jobPath, jsonType, `{"apiVersion":"kubeflow.org/v1","kind":"TFJob","metadata":{"name":"j"}}`)
	uid, _ := Get(owner, "metadata", "uid").(string)
	ask(t, w, 201, "POST", podPath, jsonType, strings.Replace(aPod, `"labels"`, `"ownerReferences":[{"apiVersion":"kubeflow.org/v1","kind":"TFJob","name":"j","uid":"`+uid+`","blockOwnerDeletion":true}],"labels"`, 1))
	ask(t, w, 200, "DELETE", jobPath+"/j?propagationPolicy=Foreground", "", "")
	var done []string
	for steps := w.Collect(); len(steps) > 0; steps = w.Collect() {
		done = append(done, steps[0].What)
		steps[0].Do()
	}
	if got := strings.Join(done, ", "); got != "collect pods a/p, take foregroundDeletion off tfjobs a/j" {
		t.Errorf("the collector did: %s", got)
	}
	if left := len(w.Objects("pods")) + len(w.Objects("tfjobs")); left != 0 {
		t.Errorf("%d objects are left", left)
	}
}
