package serve

import (
	"io"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/util/workqueue"
)

type answering func(*http.Request) (*http.Response, error)

func (f answering) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// TestNoLabelHoldsAName counts the requests and queues of an object with an unusual name and looks for the name.
func TestNoLabelHoldsAName(t *testing.T) {
	const needle = "peculiar"
	registry := prometheus.NewRegistry()
	m := NewMetrics(registry, "test_operator")
	transport := counting{answering(func(*http.Request) (*http.Response, error) {
		return &http.Response{StatusCode: http.StatusOK, Body: http.NoBody}, nil
	}), m, zap.NewNop()}
	request, err := http.NewRequest(http.MethodPatch, "https://127.0.0.1:6443/apis/kubeflow.org/v1/namespaces/team/tfjobs/"+needle+"/status?fieldManager="+needle, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	response, err := transport.RoundTrip(request)
	if err != nil {
		t.Fatal(err)
	}
	_, _ = io.Copy(io.Discard, response.Body)
	response.Body.Close()
	queue := workqueue.NewTypedRateLimitingQueueWithConfig(workqueue.DefaultTypedControllerRateLimiter[string](),
		workqueue.TypedRateLimitingQueueConfig[string]{Name: "tfjob-controller", MetricsProvider: m.Queues})
	defer queue.ShutDown()
	queue.Add("team/" + needle)

	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	samples := 0
	for _, f := range families {
		for _, sample := range f.GetMetric() {
			samples++
			for _, l := range sample.GetLabel() {
				if strings.Contains(l.GetValue(), needle) {
					t.Errorf("%s holds the object's name in %s", f.GetName(), l.GetName())
				}
			}
		}
	}
	if want := 2; samples < want {
		t.Errorf("%d samples, want at least %d", samples, want)
	}
}

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

// TestMissingRight: answers of API servers 1.35 and 1.36, and other answers of 403.
func TestMissingRight(t *testing.T) {
	for answer, want := range map[string]string{
		`pods is forbidden: User "system:serviceaccount:kubeflow:training-operator" cannot create resource "pods" in API group "" in the namespace "team"`: "create pods",
		`tfjobs.kubeflow.org "j" is forbidden: User "u" cannot patch resource "tfjobs/status" in API group "kubeflow.org" in the namespace "team"`:         "patch tfjobs/status",
		`pods is forbidden: User "u" cannot list resource "pods" in API group "" at the cluster scope: RBAC: clusterrole "x" not found`:                    "list pods",
		`{"kind":"Status","status":"Failure","message":"events is forbidden: User \"u\" cannot create resource \"events\" in API group \"\"","code":403}`:  "create events",
		"k8s\x00\n\x0c\n\x02v1\x12\x06Status\x12\x40\x1a\x40pods is forbidden: User \"u\" cannot watch resource \"pods\" in API group \"\"\"\tForbidden":   "watch pods",
		`pods "j-worker-0" is forbidden: cannot set blockOwnerDeletion if an ownerReference refers to a resource you can't set finalizers on: , <nil>`:     "update finalizers",
		`roles.rbac.authorization.k8s.io "j" is forbidden: user "u" (groups=["a"]) is attempting to grant RBAC permissions not currently held:
{APIGroups:[""], Resources:["pods/exec"], Verbs:["create"]}`: "grant roles",

		`pods "j-worker-0" is forbidden: exceeded quota: q, requested: pods=1, used: pods=0, limited: pods=0`:         "",
		`pods "j-worker-0" is forbidden: violates PodSecurity "restricted:latest": allowPrivilegeEscalation != false`: "",
		`pods "j-worker-0" is forbidden: error looking up service account team/a: serviceaccount "a" not found`:       "",
		`admission webhook "w.example.org" denied the request: you cannot create pods here`:                           "",
		`admission webhook "w.example.org" denied the request: you cannot hack resource "pods"`:                       "",
		`forbidden: User "u" cannot get path "/metrics"`:                                                              "",
		`forbidden: User "u" cannot create resource "` + strings.Repeat("a", 200) + `"`:                               "",
		`forbidden: User "u" cannot create resource "Pods in {all} namespaces"`:                                       "",
		`forbidden: User "u" cannot create resource "pods`:                                                            "",
		"": "",
	} {
		verb, resource, missing := MissingRight(answer)
		if got := strings.TrimSpace(verb + " " + resource); got != want || missing != (want != "") {
			t.Errorf("%s: found %q, %v, want %q", answer, got, missing, want)
		}
	}
	// This is the error that client-go makes of an answer without a Status.
	err := apierrors.NewForbidden(schema.GroupResource{Resource: "pods"}, "j", nil)
	if _, _, missing := MissingRight(err.Error()); missing {
		t.Errorf("%v: asks for a right", err)
	}
}

// TestMissingRightsAreCounted: and the client reads the answer as it was sent.
func TestMissingRightsAreCounted(t *testing.T) {
	registry := prometheus.NewRegistry()
	code, body := 0, ""
	transport := counting{answering(func(*http.Request) (*http.Response, error) {
		return &http.Response{StatusCode: code, Body: io.NopCloser(strings.NewReader(body)), Header: http.Header{}}, nil
	}), NewMetrics(registry, "test_operator"), zap.NewNop()}
	const forbidden = `{"message":"pods is forbidden: User \"u\" cannot create resource \"pods\" in API group \"\""}`
	for _, answer := range []struct {
		code int
		body string
	}{
		{http.StatusForbidden, forbidden}, {http.StatusForbidden, forbidden + strings.Repeat(" ", 3*peeked)},
		{http.StatusForbidden, "exceeded quota"}, {http.StatusForbidden, ""}, {http.StatusConflict, forbidden}, {http.StatusOK, forbidden},
	} {
		code, body = answer.code, answer.body
		request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "https://127.0.0.1/api/v1/namespaces/team/pods", http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		response, err := transport.RoundTrip(request)
		if err != nil {
			t.Fatal(err)
		}
		got, err := io.ReadAll(response.Body)
		if diff := cmp.Diff(answer.body, string(got)); diff != "" || err != nil {
			t.Errorf("%d: %v (-sent +read):\n%s", answer.code, err, diff)
		}
		if err := response.Body.Close(); err != nil {
			t.Error(err)
		}
	}
	const want = `
# HELP test_operator_missing_rights_total Requests that the API server refused because this process has no right to them. Anything but 0 is for who installs it.
# TYPE test_operator_missing_rights_total counter
test_operator_missing_rights_total{resource="pods",verb="create"} 2
`
	if err := testutil.GatherAndCompare(registry, strings.NewReader(want), "test_operator_missing_rights_total"); err != nil {
		t.Error(err)
	}
}
