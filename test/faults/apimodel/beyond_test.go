package apimodel

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

const (
	fooGroup     = "/apis/test.example.com/v1alpha1"
	fooPath      = fooGroup + "/namespaces/default/foobars"
	clusterPath  = fooGroup + "/clusterfoobars"
	pytorchPath  = "/apis/kubeflow.org/v1/namespaces/default/pytorchjobs"
	fooCRD       = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/foobars.test.example.com"
	partialType  = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"
	patchType    = "application/json-patch+json"
	initialQuery = "watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true"
)

func foobars(status bool) Resource {
	return Resource{Group: "test.example.com", Version: "v1alpha1", Plural: "foobars", Kind: "FooBar", Namespaced: true, Status: status}
}

// beyond compares the model with the real server after changes that are not requests.
type beyond struct {
	*testing.T
	*real
	model    *Model
	versions map[string][2]string // of objects, by path: the last version of each side
}

// compareBeyond covers resources of every scope, CRDs that change, dropped fields, namespaces that close, and watches.
func compareBeyond(t *testing.T, r *real) {
	t.Helper()
	b := &beyond{t, r, New(time.Now, append(modelled(), foobars(true),
		Resource{Group: "test.example.com", Version: "v1alpha1", Plural: "clusterfoobars", Kind: "ClusterFooBar", Status: true})...), map[string][2]string{}}
	b.clusterScoped()
	b.resources()
	b.dropped()
	b.closing()
}

// said returns an answer in a form that both servers share. The version is empty if the answer is not a single object.
func said(code int, text []byte) (words tree, version string) {
	var object tree
	if json.Unmarshal(text, &object) != nil {
		return tree{"code": code, "text": strings.TrimSpace(string(text))}, ""
	}
	switch {
	case object["gitVersion"] != nil:
		object = tree{"major": object["major"], "minor": object["minor"]}
	case object["kind"] == "Status":
		var causes []any
		for _, c := range asList(Get(object, "details", "causes")) {
			causes = append(causes, Get(c.(tree), "reason"), Get(c.(tree), "field"))
		}
		object = tree{"reason": object["reason"], "name": Get(object, "details", "name"), "causes": causes}
	case object["kind"] == "APIResourceList":
		var served []any
		for _, r := range asList(object["resources"]) {
			served = append(served, []any{Get(r.(tree), "name"), Get(r.(tree), "kind"), Get(r.(tree), "namespaced")})
		}
		slices.SortFunc(served, func(a, b any) int { return strings.Compare(fmt.Sprint(a), fmt.Sprint(b)) })
		object = tree{"served": served}
	case object["items"] != nil:
		for _, item := range asList(object["items"]) {
			bare(item.(tree))
		}
		object["metadata"] = tree{"more": Get(object, "metadata", "continue") != nil && Get(object, "metadata", "continue") != ""}
	default:
		version, _ = Get(object, "metadata", "resourceVersion").(string)
		bare(object)
	}
	object["code"] = code
	return object, version
}

func asList(value any) []any { list, _ := value.([]any); return list }

// bare removes what differs between any two servers.
func bare(object tree) {
	for _, field := range []string{"uid", "resourceVersion", "creationTimestamp", "managedFields"} {
		delete(metaOf(object), field)
	}
}

// same sends a request to both until the answers agree: a change other than by a request takes a moment to take effect.
func (b *beyond) same(what, method, path, contentType, body string) {
	b.Helper()
	accept := "application/json"
	if strings.HasSuffix(what, "metadata") {
		accept = partialType
	}
	code, text, _ := b.model.sending(method, path, contentType, accept, []byte(body)) // the model does not fail
	mine, version := said(code, text)
	diff := "not asked"
	for deadline := time.Now().Add(2 * time.Minute); diff != "" && time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		code, text, err := b.send(method, path, contentType, accept, []byte(body))
		if err != nil {
			b.Fatal(err)
		}
		its, itsVersion := said(code, text)
		diff = cmp.Diff(mine, its)
		if version != "" && diff == "" {
			at, _, _ := strings.Cut(path, "/status")
			if before, known := b.versions[at]; known && (before[0] == version) != (before[1] == itsVersion) {
				diff = "one has a new version, the other has not"
			}
			b.versions[at] = [2]string{version, itsVersion}
		}
	}
	if diff != "" {
		b.Errorf("%s (-model +real):\n%s", what, diff)
	}
}

// change changes what only the real server has.
func (b *beyond) change(method, path, contentType, body string) {
	b.Helper()
	if code, text, err := b.send(method, path, contentType, "application/json", []byte(body)); err != nil || code > 299 {
		b.Fatalf("%s %s: %d %s %v", method, path, code, text, err)
	}
}

func (b *beyond) clusterScoped() {
	object := func(name string) string {
		return `{"apiVersion":"test.example.com/v1alpha1","kind":"ClusterFooBar","metadata":{"name":"` + name + `"},"spec":{"n":1},"status":{"s":1}}`
	}
	b.same("the version", "GET", "/version", "", "")
	b.same("creation", "POST", clusterPath, jsonType, object("a"))
	b.same("another", "POST", clusterPath, jsonType, object("b"))
	b.same("a name that is taken", "POST", clusterPath, jsonType, object("a"))
	b.same("an object", "GET", clusterPath+"/a", "", "")
	b.same("its metadata", "GET", clusterPath+"/a", "", "")
	b.same("a status", "PATCH", clusterPath+"/a/status", patchType, `[{"op":"add","path":"/status","value":{"s":2}}]`)
	b.same("a label", "PATCH", clusterPath+"/a", mergeType, `{"metadata":{"labels":{"x":"y"}},"status":{"s":3}}`)
	b.same("an old version", "PATCH", clusterPath+"/a", mergeType, `{"metadata":{"resourceVersion":"1"}}`)
	b.same("a list", "GET", clusterPath, "", "")
	b.same("a page", "GET", clusterPath+"?limit=1", "", "")
	b.same("a selection", "GET", clusterPath+"?labelSelector=x%3Dy&fieldSelector=metadata.name%3Da", "", "")
	b.same("what is in no namespace", "GET", fooGroup+"/namespaces/default/clusterfoobars", "", "")
	b.same("no object", "GET", clusterPath+"/c", "", "")
	b.streams()
	b.same("a wrong UID", "DELETE", clusterPath+"/a", jsonType, `{"preconditions":{"uid":"x"}}`)
	b.same("a deletion", "DELETE", clusterPath+"/a", jsonType, `{}`)
	b.same("what is left", "GET", clusterPath, "", "")
}

// streams: watches begin with all that exists, if they name no version; or end that with a bookmark; or are too old.
func (b *beyond) streams() {
	b.model.Compact(b.model.Version())
	for query, events := range map[string]int{"watch=1": 2, initialQuery: 3, "watch=1&resourceVersion=1": 1} {
		w, mine := b.begin(clusterPath + "?" + query)
		more, _ := b.model.More(w)
		its, stop := b.watch(clusterPath + "?" + query)
		var first []string
		for range events {
			first = append(first, <-its)
		}
		stop()
		if diff := cmp.Diff(reported(strings.Split(strings.TrimSpace(string(mine)+string(more)), "\n")), reported(first)); diff != "" {
			b.Errorf("a watch with %s is told first (-model +real):\n%s", query, diff)
		}
	}
}

// begin begins a watch of the model.
func (b *beyond) begin(path string) (w *Watch, events []byte) {
	r, err := http.NewRequest("GET", "http://model"+path, http.NoBody)
	if err != nil {
		b.Fatal(err)
	}
	w, code, _ := b.model.Watching(r)
	if w == nil {
		b.Fatalf("watch %s: %d", path, code)
	}
	return w, b.model.Begin(w, b.model.Version())
}

// watch watches the real server. The lines end when the watch does, or when nothing arrives.
func (b *beyond) watch(path string) (lines <-chan string, stop func()) {
	ctx, stop := context.WithTimeout(context.Background(), 2*time.Minute)
	r, err := http.NewRequestWithContext(ctx, "GET", b.url+path, http.NoBody)
	if err != nil {
		b.Fatal(err)
	}
	response, err := b.client.Do(r)
	if err != nil {
		b.Fatal(err)
	}
	all := make(chan string, 100)
	go func() {
		defer close(all)
		defer response.Body.Close()
		for scan := bufio.NewScanner(response.Body); scan.Scan(); {
			all <- scan.Text()
		}
	}()
	return all, stop
}

// reported returns events in a form that all servers share.
func reported(lines []string) (events []any) {
	for _, line := range lines {
		var e struct {
			Type   string
			Object tree
		}
		_ = json.Unmarshal([]byte(line), &e) // a line that is no event stays empty in the comparison
		if e.Type == "BOOKMARK" {
			delete(e.Object, "spec") // a real server sends an empty object of the kind
		}
		object := tree{"code": e.Object["code"], "reason": e.Object["reason"]}
		if e.Type != "ERROR" {
			bare(e.Object)
			object = e.Object
		}
		events = append(events, []any{e.Type, object})
	}
	return events
}

// resources lose their status subresource, and are not served for a while.
func (b *beyond) resources() {
	const object = `{"apiVersion":"test.example.com/v1alpha1","kind":"FooBar","metadata":{"name":"a"},"status":{"s":1}}`
	b.same("what is served", "GET", fooGroup, "", "")
	b.change("PATCH", fooCRD, patchType, `[{"op":"remove","path":"/spec/versions/0/subresources"}]`)
	b.model.Serve(foobars(false))
	b.same("what is served without a status", "GET", fooGroup, "", "")
	b.same("no status subresource", "PATCH", fooPath+"/a/status", mergeType, `{"status":{"s":2}}`)
	b.same("an object with a status", "POST", fooPath, jsonType, object)
	b.same("a status without subresource", "PATCH", fooPath+"/a", mergeType, `{"status":{"s":2}}`)
	b.change("PATCH", fooCRD, patchType, `[{"op":"add","path":"/spec/versions/0/subresources","value":{"status":{}}}]`)
	b.model.Serve(foobars(true))
	b.same("what is served with a status", "GET", fooGroup, "", "")
	b.same("a status that is not of the object", "PATCH", fooPath+"/a", mergeType, `{"metadata":{"labels":{"x":"y"}},"status":{"s":3}}`)
	b.same("a status of the subresource", "PATCH", fooPath+"/a/status", mergeType, `{"status":{"s":4}}`)

	mine, _ := b.begin(fooPath + "?watch=1")
	its, stop := b.watch(fooPath + "?watch=1")
	defer stop()
	<-its
	b.change("PATCH", fooCRD, patchType, `[{"op":"replace","path":"/spec/versions/0/served","value":false}]`)
	b.model.Unserve("foobars")
	b.same("what is served beside it", "GET", fooGroup, "", "")
	b.same("an object that is not served", "GET", fooPath+"/a", "", "")
	b.same("a list that is not served", "GET", fooPath, "", "")
	line, more := <-its
	if reported, ended := b.model.More(mine); more || !ended || len(reported) > 0 {
		b.Errorf("the watch of a resource that is not served any more: model %q, ended: %v; real %q, ended: %v", reported, ended, line, !more)
	}
	b.change("PATCH", fooCRD, patchType, `[{"op":"replace","path":"/spec/versions/0/served","value":true}]`)
	b.model.Serve(foobars(true))
	b.same("what is served again", "GET", fooGroup, "", "")
	b.same("an object that was there all the time", "GET", fooPath+"/a", "", "")
}

// dropped fields create no new version.
func (b *beyond) dropped() {
	b.model.Admit(func(plural string, o map[string]any) {
		if spec, _ := o["spec"].(tree); plural == "pytorchjobs" {
			delete(spec, "nonsense")
		}
	})
	object := manifest("pytorchjobs", "a")
	object["spec"].(tree)["nonsense"] = int64(1)
	b.same("an object with a field that is dropped", "POST", pytorchPath, jsonType, string(encode(object)))
	b.same("the object", "GET", pytorchPath+"/a", "", "")
	b.same("a change that is dropped", "PATCH", pytorchPath+"/a", mergeType, `{"spec":{"nonsense":2}}`)
	b.same("one that is not", "PATCH", pytorchPath+"/a", mergeType, `{"metadata":{"labels":{"x":"y"}},"spec":{"nonsense":3}}`)
}

// closing: a namespace is deleted, and created again.
func (b *beyond) closing() {
	const path, space = "/api/v1/namespaces/closing/configmaps", "/api/v1/namespaces"
	const object = `{"metadata":{"name":"%s","finalizers":["example.com/stays"]}}`
	b.change("POST", space, jsonType, `{"metadata":{"name":"closing"}}`)
	b.same("an object of a namespace", "POST", path, jsonType, fmt.Sprintf(object, "a"))
	b.change("DELETE", space+"/closing", jsonType, `{}`)
	b.model.Close("closing")
	b.same("a creation in a namespace that closes", "POST", path, jsonType, fmt.Sprintf(object, "b"))
	b.same("a change in it", "PATCH", path+"/a", mergeType, `{"metadata":{"labels":{"x":"y"}}}`)
	b.same("the end of its last finalizer", "PATCH", path+"/a", mergeType, `{"metadata":{"finalizers":null}}`)
	b.same("the end of its last object", "DELETE", path+"/a", jsonType, `{}`)
	b.change("PUT", space+"/closing/finalize", jsonType, `{"apiVersion":"v1","kind":"Namespace","metadata":{"name":"closing"},"spec":{"finalizers":[]}}`)
	b.change("POST", space, jsonType, `{"metadata":{"name":"closing"}}`)
	b.model.Open("closing")
	b.same("a creation in the next namespace", "POST", path, jsonType, fmt.Sprintf(object, "c"))
}
