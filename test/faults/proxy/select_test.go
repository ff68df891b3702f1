package proxy

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
)

// TestSelect: an operator lists and watches only the selected objects of a cluster-scoped resource, whatever its own selector;
// its other requests, and those in a namespace, arrive unchanged.
func TestSelect(t *testing.T) {
	s, p := newStub(t)
	p.Select("clusterfoobars", "sandbox=a")
	close(s.tell) // watches end immediately
	c := operator(t, p)
	const group = "/apis/test.example.com/v1/"
	for _, path := range []string{"clusterfoobars", "clusterfoobars?labelSelector=x%3Dy&limit=1", "clusterfoobars?watch=true", "clusterfoobars/one", "namespaces/ns/clusterfoobars", "foobars"} {
		ask(t, c, p, http.MethodGet, group+path, "")
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	var reached []string
	for _, line := range s.reached {
		text, err := url.QueryUnescape(strings.TrimPrefix(line, "GET "+group))
		if err != nil {
			t.Fatal(err)
		}
		reached = append(reached, text)
	}
	want := []string{"clusterfoobars?labelSelector=sandbox=a", "clusterfoobars?labelSelector=x=y,sandbox=a&limit=1", "clusterfoobars?labelSelector=sandbox=a&watch=true",
		"clusterfoobars/one", "namespaces/ns/clusterfoobars", "foobars"}
	if !slices.Equal(reached, want) {
		t.Errorf("the API server was asked for\n%q, want\n%q", reached, want)
	}
	if asked := p.Lists()[0].Query.Get("labelSelector"); asked != "" {
		t.Errorf("the record says that the operator selected %s", asked)
	}
}
