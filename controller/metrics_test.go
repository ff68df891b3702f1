package controller

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/workqueue"

	"stoic/controller/plan"
	"stoic/schema"
)

type answering func(*http.Request) (*http.Response, error)

func (f answering) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// TestNoLabelHoldsAJob counts everything that can be counted of a job with a peculiar name and looks for the name.
func TestNoLabelHoldsAJob(t *testing.T) {
	const needle = "peculiar"
	registry := prometheus.NewRegistry()
	m := newMetrics(registry)
	head := &schema.Head{Kind: schema.TFJob(), Meta: metav1.ObjectMeta{Namespace: "team", Name: needle, UID: needle}}
	for _, c := range []plan.Counter{plan.CountCreated, plan.CountDeleted, plan.CountSucceeded, plan.CountFailed, plan.CountRestarted} {
		m.count(head, plan.Count{Counter: c})
	}
	for _, code := range schema.Codes() {
		m.count(head, plan.Count{Counter: plan.CountRejected, Code: code})
	}
	transport := counting{answering(func(*http.Request) (*http.Response, error) {
		return &http.Response{StatusCode: http.StatusOK, Body: http.NoBody}, nil
	}), m}
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
		workqueue.TypedRateLimitingQueueConfig[string]{Name: "tfjob-controller", MetricsProvider: m.queues})
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
					t.Errorf("%s holds the job's name in %s", f.GetName(), l.GetName())
				}
			}
		}
	}
	if want := 5 + len(schema.Codes()) + 2; samples < want {
		t.Errorf("%d samples, want at least %d", samples, want)
	}
}
