package proxy

import (
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer/protobuf"
	"k8s.io/client-go/kubernetes/scheme"
)

// TestParse: how a request is read, and by which names it concerns a subject.
func TestParse(t *testing.T) {
	for request, want := range map[string]string{
		"GET /api/v1/namespaces/ns/pods":                                                                                    "list /v1 pods ns / []",
		"GET /api/v1/pods?watch=1":                                                                                          "watch /v1 pods  / []",
		"GET /api/v1/namespaces/ns/pods/job-0":                                                                              "get /v1 pods ns job-0/ [job-0]",
		"POST /api/v1/namespaces/ns/pods {\"metadata\":{\"name\":\"job-0\"}}":                                               "create /v1 pods ns job-0/ [job-0]",
		"POST /api/v1/namespaces/ns/pods {\"metadata\":{\"generateName\":\"job-\"}}":                                        "create /v1 pods ns / [job-]",
		"POST /api/v1/namespaces/ns/pods/job-0/eviction {}":                                                                 "create /v1 pods ns job-0/eviction [job-0]",
		"PUT /apis/kubeflow.org/v1/namespaces/ns/tfjobs/job/status {\"metadata\":{\"name\":\"job\"}}":                       "update kubeflow.org/v1 tfjobs ns job/status [job]",
		"PATCH /apis/kubeflow.org/v1/namespaces/ns/tfjobs/job {\"metadata\":7}":                                             "patch kubeflow.org/v1 tfjobs ns job/ [job]",
		"DELETE /api/v1/namespaces/ns/pods/job-0 {\"preconditions\":{\"uid\":\"u\"}}":                                       "delete /v1 pods ns job-0/ [job-0]",
		"DELETE /api/v1/namespaces/ns/pods?labelSelector=a/name%3Djob,b%21%3Dc":                                             "deletecollection /v1 pods ns / []",
		"GET /api/v1/namespaces/job":                                                                                        "get /v1 namespaces  job/ [job]",
		"PUT /api/v1/namespaces/job/finalize {}":                                                                            "update /v1 namespaces  job/finalize [job]",
		"POST /api/v1/namespaces/ns/events {\"metadata\":{\"name\":\"e\"},\"involvedObject\":{\"name\":\"job\"}}":           "create /v1 events ns e/ [job]",
		"POST /apis/events.k8s.io/v1/namespaces/ns/events {\"metadata\":{\"name\":\"e\"},\"regarding\":{\"name\":\"job\"}}": "create events.k8s.io/v1 events ns e/ [job]",
		"PATCH /api/v1/namespaces/ns/events/job-worker-0.18b1 {\"count\":2}":                                                "patch /v1 events ns job-worker-0.18b1/ [job-worker-0]",
		"POST /api/v1/namespaces/ns/pods {\"metadata\":{\"name\":\"job-0\",\"annotations\":{\"a\":1}}}":                     "create /v1 pods ns job-0/ [job-0]",
		"POST /api/v1/namespaces/ns/pods not JSON":                                                                          "create /v1 pods ns / []",
		"GET /version":      "none",
		"GET /api/v1":       "none",
		"GET /apis/apps/v1": "none",
	} {
		parts := strings.SplitN(request, " ", 3)
		body := ""
		if len(parts) > 2 {
			body = parts[2]
		}
		got := "none"
		if q, ok := parse(httptest.NewRequest(parts[0], parts[1], nil), []byte(body)); ok {
			var names []string
			if q.Verb != "list" && q.Verb != "watch" {
				names = q.identify()
			}
			got = q.Verb + " " + q.Group + "/" + q.Version + " " + q.Resource + " " + q.Namespace + " " + q.Name + "/" + q.Subresource + " [" + strings.Join(names, " ") + "]"
		}
		if got != want {
			t.Errorf("%s\n is %s\nnot %s", request, got, want)
		}
	}
}

// TestProtobufBody: names are found in a body that is not JSON, and journals are JSON.
func TestProtobufBody(t *testing.T) {
	event := &corev1.Event{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Event"}, ObjectMeta: metav1.ObjectMeta{Name: "e"}, InvolvedObject: corev1.ObjectReference{Name: "job"}}
	body, err := runtime.Encode(protobuf.NewSerializer(scheme.Scheme, scheme.Scheme), event)
	if err != nil {
		t.Fatal(err)
	}
	r := httptest.NewRequest(http.MethodPost, "/api/v1/namespaces/ns/events", nil)
	r.Header.Set("Content-Type", "application/vnd.kubernetes.protobuf")
	q, _ := parse(r, body)
	if names := q.identify(); !slices.Equal(names, []string{"job"}) || !strings.Contains(string(q.Body), `"involvedObject":{"name":"job"}`) {
		t.Errorf("it concerns %q, journal: %s", names, q.Body)
	}
}

// TestSubjects: a name concerns its subject and whatever is longer than it by a hyphen and more.
func TestSubjects(t *testing.T) {
	if got := subjectsOf([]string{"job-a-0", "x"}); !slices.Equal(got, []string{"job", "job-a", "job-a-0", "x"}) {
		t.Errorf("found %q", got)
	}
}

// TestUnclaimed: writes that concern no subject are kept until they are taken; those about a subject whose track has ended are not.
func TestUnclaimed(t *testing.T) {
	_, p := newStub(t)
	p.Follow("job")
	p.Follow("old")
	p.Forget("old")
	c := operator(t, p)
	for _, q := range [][3]string{
		{http.MethodPost, "pods", `{"metadata":{"name":"job-0"}}`}, {http.MethodPost, "pods", `{"metadata":{"name":"other"}}`}, {http.MethodPost, "pods", `{"metadata":{"generateName":"old-0-"}}`},
		{http.MethodDelete, "pods/old", ""}, {http.MethodPut, "pods/older", "{}"}, {http.MethodGet, "pods/other", ""}, {http.MethodGet, "pods", ""}, {http.MethodDelete, "pods?labelSelector=a%3Dother", ""},
	} {
		ask(t, c, p, q[0], "/api/v1/namespaces/ns/"+q[1], q[2])
	}
	var found []string
	for _, e := range p.Unclaimed() {
		found = append(found, e.Verb+" "+e.Name)
	}
	if want := []string{"create other", "update older", "deletecollection "}; !slices.Equal(found, want) {
		t.Errorf("found %q, want %q", found, want)
	}
	if again := p.Unclaimed(); len(again) > 0 {
		t.Errorf("what was asked for is kept: %v", again)
	}
}

// TestReadable: the Accept header that is forwarded for an operator that prefers protobuf.
func TestReadable(t *testing.T) {
	for accept, want := range map[string]string{
		"":                                    "application/json",
		"application/vnd.kubernetes.protobuf": "application/json",
		"application/vnd.kubernetes.protobuf,application/json":                                                   "application/json",
		"application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1, application/json":                         "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,application/json",
		"application/vnd.kubernetes.protobuf;as=PartialObjectMetadata,application/json;as=PartialObjectMetadata": "application/json;as=PartialObjectMetadata",
	} {
		if got := readable(accept); got != want {
			t.Errorf("%q becomes %q, not %q", accept, got, want)
		}
	}
}
