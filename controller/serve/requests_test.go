package serve

import (
	"io"
	"net/http"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"
)

// TestFailedRequestsAreNamed: they are logged by their id in the API server's audit log, for the one reconcile that sent them, and in a
// line of their own at the level "debug".
func TestFailedRequestsAreNamed(t *testing.T) {
	core, lines := observer.New(zap.DebugLevel)
	code, id := 0, ""
	transport := counting{answering(func(*http.Request) (*http.Response, error) {
		answer := &http.Response{StatusCode: code, Body: http.NoBody, Header: http.Header{}}
		if id != "" {
			answer.Header.Set("Audit-Id", id)
		}
		return answer, nil
	}), NewMetrics(prometheus.NewRegistry(), "test_operator"), zap.New(core)}
	mine, failures := WithFailures(t.Context())
	_, others := WithFailures(t.Context())
	ask := func(answer int, with string) {
		code, id = answer, with
		request, err := http.NewRequestWithContext(mine, http.MethodPost, "https://127.0.0.1/api/v1/namespaces/team/pods?timeout=1s", http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		response, err := transport.RoundTrip(request)
		if err != nil {
			t.Fatal(err)
		}
		_, _ = io.Copy(io.Discard, response.Body)
		response.Body.Close()
	}
	ask(http.StatusCreated, "fine")
	ask(http.StatusConflict, "taken")
	ask(http.StatusForbidden, "") // a proxy in between
	ask(http.StatusInternalServerError, "broken")
	if diff := cmp.Diff([]string{"taken", "broken"}, failures.AuditIDs()); diff != "" || others.AuditIDs() != nil {
		t.Errorf("(-want +got):\n%s, of others %v", diff, others.AuditIDs())
	}
	want := map[string]any{"method": "POST", "path": "/api/v1/namespaces/team/pods", "code": int64(409), "auditID": "taken"}
	if diff := cmp.Diff(want, lines.All()[0].ContextMap()); diff != "" || lines.Len() != 3 || lines.All()[0].Level != zap.DebugLevel {
		t.Errorf("%d lines (-want +got):\n%s", lines.Len(), diff)
	}
	for i := range 100 {
		ask(http.StatusConflict, strconv.Itoa(i))
	}
	if n := len(failures.AuditIDs()); n != mostFailures {
		t.Errorf("%d ids, want %d", n, mostFailures)
	}
}
