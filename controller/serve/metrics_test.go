package serve

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/zap"
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
