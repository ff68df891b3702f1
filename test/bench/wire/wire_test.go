package wire

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/client-go/rest"
)

func serve(t *testing.T, handler http.HandlerFunc) *Client {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	c, err := Dial(&rest.Config{Host: server.URL})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestSend(t *testing.T) {
	c := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Content-Type") != MergePatch {
			w.WriteHeader(http.StatusConflict)
			fmt.Fprint(w, `{"message":"another"}`)
			return
		}
		fmt.Fprint(w, `{"metadata":{"name":"n","namespace":"ns"}}`)
	})
	var answer Object
	if err := c.Send(t.Context(), http.MethodPatch, JobsPath("ns"), MergePatch, []byte("{}"), &answer); err != nil || answer.Metadata.Key() != "ns/n" {
		t.Errorf("%+v, %v", answer, err)
	}
	err := c.Send(t.Context(), http.MethodPost, JobsPath("ns"), JSON, nil, nil)
	if !IsStatus(err, http.StatusConflict) || IsStatus(err, http.StatusNotFound) || !strings.Contains(err.Error(), "another") {
		t.Errorf("%v", err)
	}
}

// TestWatch: a stream that is cut is resumed where it was, until there is an error.
func TestWatch(t *testing.T) {
	streams := []string{
		`{"type":"ADDED","object":{"metadata":{"name":"a","resourceVersion":"3"}}}
{"type":"BOOKMARK","object":{"metadata":{"name":"","resourceVersion":"5"}}}
{"type":"MODIFIED","object":{"metadata":{"name":"a","resourceVersion":"7"}}}
{"type":"ADD`,
		`{"type":"BOOKMARK","object":{"metadata":{"resourceVersion":"9"}}}
`,
		`{"type":"DELETED","object":{"metadata":{"name":"a","resourceVersion":"10"}}}
{"type":"ERROR","object":{"code":410}}`,
	}
	var asked []string
	c := serve(t, func(w http.ResponseWriter, r *http.Request) {
		query := r.URL.Query()
		if query.Get("watch") != "1" || query.Get("labelSelector") != "x" || !strings.Contains(r.Header.Get("Accept"), "Partial") {
			t.Errorf("%v %v", r.URL, r.Header)
		}
		fmt.Fprint(w, streams[len(asked)])
		asked = append(asked, query.Get("sendInitialEvents")+query.Get("resourceVersion"))
	})
	var heard []string
	err := Watch(t.Context(), c, CorePath("", "pods"), map[string][]string{"labelSelector": {"x"}}, true, func(event string, o *Object) {
		heard = append(heard, event+o.Metadata.Name)
	})
	if err == nil || !strings.Contains(err.Error(), `{"code":410}`) {
		t.Errorf("%v", err)
	}
	if diff := cmp.Diff([]string{"ADDEDa", Synced, "MODIFIEDa", "DELETEDa"}, heard); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"true", "7", "9"}, asked); diff != "" {
		t.Error(diff)
	}
}

// TestWatchEnds: a cut before all initial objects were reported is an error, as they would be reported twice; the end of the
// context is none.
func TestWatchEnds(t *testing.T) {
	for text, want := range map[string]string{``: "cut", `{"type":"ADDED","object":{"metadata":7}}`: "read an object"} {
		c := serve(t, func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, text) })
		if err := Watch(t.Context(), c, "/", nil, false, func(string, *Object) {}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", text, err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	c := serve(t, func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintln(w, `{"type":"BOOKMARK","object":{}}`)
		w.(http.Flusher).Flush()
		<-r.Context().Done()
	})
	if err := Watch(ctx, c, "/", nil, false, func(event string, _ *Object) {
		if event == Synced {
			cancel()
		}
	}); err != nil {
		t.Errorf("the end of the context: %v", err)
	}
}
