package simulation

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"testing"
)

// TestObserveHeldEvents: a process does not know the events of a watch that continues from a version until a list has been answered. It
// knows those of a watch that begins with the existing objects immediately.
func TestObserveHeldEvents(t *testing.T) {
	g := &gate{}
	p := &process{gate: g, knows: map[string]int64{}, watched: map[string]*trouble{}}
	request := func(resource string, query url.Values) *request {
		return &request{from: p, http: httptest.NewRequest(http.MethodGet, "/", nil), method: http.MethodGet, resource: resource, query: query, answers: make(chan answer, 1)}
	}
	g.open(request("pods", url.Values{"watch": {"1"}, "resourceVersion": {"5"}}), nil, 7)
	g.open(request("services", url.Values{"watch": {"1"}, "sendInitialEvents": {"true"}}), nil, 7)
	for _, step := range []struct {
		what           string
		does           func()
		pods, services int64
	}{
		{"the watch has started", func() {}, 0, 7},
		{"the list has failed", func() { g.reply(request("pods", nil), answer{code: http.StatusServiceUnavailable}) }, 0, 7},
		{"a list of something else is answered", func() { g.reply(request("tfjobs", nil), answer{code: http.StatusOK}) }, 0, 7},
		{"the list is answered", func() { g.reply(request("pods", nil), answer{code: http.StatusOK}) }, 7, 7},
	} {
		step.does()
		p.observe()
		if p.knows["pods"] != step.pods || p.knows["services"] != step.services {
			t.Errorf("%s: pods are known up to %d and services up to %d, want %d and %d", step.what, p.knows["pods"], p.knows["services"], step.pods, step.services)
		}
	}
}
