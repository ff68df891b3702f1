package lean

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/iotest"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	runtimeschema "k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/rest"
	"pgregory.net/rapid"
)

// nested returns an object of so many levels, the object itself being one.
func nested(name string, levels int) string {
	return `{"apiVersion":"kubeflow.org/v1","kind":"TFJob","metadata":{"name":"` + name + `"},"spec":` + strings.Repeat(`[`, levels-1) + strings.Repeat(`]`, levels-1) + `}`
}

// TestDeepObjects: an object of as many levels as an API server stores is listed and watched, and so are those beside it.
func TestDeepObjects(t *testing.T) {
	const most = 10_000 // what encoding/json takes
	for _, levels := range []int{2, deepest, deepest + 1, most - 2, most - 1, most} {
		deep := nested("deep", levels)
		if !json.Valid([]byte(deep)) {
			t.Fatalf("%d levels are no JSON to anyone", levels)
		}
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			switch {
			case r.URL.Query().Get("watch") != "":
				for _, o := range []string{deep, nested("after", 2)} {
					fmt.Fprintf(w, "{\"type\":\"ADDED\",\"object\":%s}\n", o)
				}
			case strings.HasSuffix(r.URL.Path, "/deep"):
				fmt.Fprintln(w, deep)
			default:
				fmt.Fprintf(w, `{"apiVersion":"kubeflow.org/v1","kind":"TFJobList","metadata":{"resourceVersion":"7"},"items":[%s,%s]}`, deep, nested("after", 2))
			}
		}))
		defer server.Close()
		client, err := NewUntyped(&rest.Config{Host: server.URL})
		if err != nil {
			t.Fatal(err)
		}
		jobs := client.Resource(runtimeschema.GroupVersionResource{Group: "kubeflow.org", Version: "v1", Resource: "tfjobs"}).Namespace("ns")
		var names []string
		list, err := jobs.List(t.Context(), metav1.ListOptions{})
		if err != nil {
			t.Fatalf("%d levels: list: %v", levels, err)
		}
		for _, o := range list.Items {
			names = append(names, o.GetName())
		}
		w, err := jobs.Watch(t.Context(), metav1.ListOptions{})
		if err != nil {
			t.Fatal(err)
		}
		for e := range w.ResultChan() {
			u, ok := e.Object.(*unstructured.Unstructured)
			if !ok || e.Type != watch.Added {
				t.Errorf("%d levels: event %v of %v", levels, e.Type, e.Object)
				break
			}
			names = append(names, u.GetName())
		}
		if one, err := jobs.Get(t.Context(), "deep", metav1.GetOptions{}); err != nil || one.GetName() != "deep" {
			t.Errorf("%d levels: get: %v", levels, err)
		}
		if got := strings.Join(names, " "); got != "deep after deep after" {
			t.Errorf("%d levels: listed and watched: %s", levels, got)
		}
	}
}

// TestShallow: what is not too deep stays as it is, byte for byte, in whatever pieces it arrives; what is too deep
// leaves JSON.
func TestShallow(t *testing.T) {
	for name, text := range map[string]string{
		"nothing": "", "text": `"[[[{{{\"[\\"`, "cut": `{"a":[`, "too many": `]]]]}}{"a":1}`, "two": `{"a":[1,"]"]}` + "\n" + `{"b":{}}`, "as deep as is read": nested("x", deepest),
	} {
		if got := string(Shallow([]byte(text))); got != text {
			t.Errorf("%s: %.100q became %.100q", name, text, got)
		}
	}
	below := `[{"a":"]}\"","b":[[]]},7]`
	deep := strings.Repeat(`[`, deepest) + `1,` + below + `,` + below + `,2` + strings.Repeat(`]`, deepest)
	want := strings.Repeat(`[`, deepest) + `1,0,0,2` + strings.Repeat(`]`, deepest)
	if got := string(Shallow([]byte(deep))); got != want {
		t.Errorf("%d bytes became %d, want %d", len(deep), len(got), len(want))
	}
	for pieces, r := range map[string]io.Reader{"bytes": iotest.OneByteReader(strings.NewReader(deep)), "halves": iotest.HalfReader(strings.NewReader(deep)),
		"the end with data": iotest.DataErrReader(strings.NewReader(deep))} {
		if got, err := io.ReadAll(&shallowReader{ReadCloser: io.NopCloser(r)}); err != nil || string(got) != want {
			t.Errorf("in %s: %d bytes became %d, want %d: %v", pieces, len(deep), len(got), len(want), err)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		text := strings.Repeat(`[`, rapid.IntRange(deepest-5, deepest).Draw(t, "levels")) + strings.Join(rapid.SliceOf(rapid.SampledFrom([]string{`[`, `]`, `{`, `}`, `"`, `\`, `1`, `,`, `\"`})).Draw(t, "text"), "")
		got := Shallow([]byte(text))
		if len(got) > len(text) {
			t.Fatalf("it grew")
		}
		if json.Valid([]byte(text)) && !json.Valid(got) {
			t.Fatalf("it is no JSON any more")
		}
	})
}
