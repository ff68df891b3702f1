package plans

import (
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/rest"

	"stoic/test/faults/history"
	"stoic/test/faults/scenario"
)

// TestEndStateStays: an operator that comes to the end state again and again does not come through a plan, whatever the state is at
// the moment of the judgement. What is reached shortly before patience ends has its time to show that it stays.
func TestEndStateStays(t *testing.T) {
	const patience, pace = time.Second, 100 * time.Millisecond
	for name, c := range map[string]struct {
		states   []string // of the job, one after another; the first is the end state
		unstable bool
	}{
		"it stays":                  {[]string{"Succeeded"}, false},
		"it comes and goes":         {slices.Repeat([]string{"Succeeded", "Running"}, 20), true},
		"it goes":                   {[]string{"Succeeded", "Running"}, true},
		"it goes and comes to stay": {[]string{"Succeeded", "Running", "Succeeded"}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			job := func(i int) history.Version {
				v := version(0, watch.Modified, scenario.TFJobs(), "j", "job", map[string]any{"apiVersion": "kubeflow.org/v1", "kind": "TFJob",
					"status": map[string]any{"conditions": []any{map[string]any{"type": c.states[i], "status": "True"}}}})
				v.Object.SetResourceVersion(strconv.Itoa(i + 2))
				return v
			}
			recorder, err := history.Record(t.Context(), told(t, len(c.states), pace, func(i int) any { return job(i).Object.Object }), scenario.TFJobs())
			if err != nil {
				t.Fatal(err)
			}
			a := &Attempt{Plan: Plan{Scenario: scenario.All()[0], patience: patience}, Run: recorder.RunOf(aJob())}
			a.Reference.Digest = history.Of(aJob(), job(0)).View().Digest(a.Scenario.Operator.Rules.Status)
			if err := a.Run.Await(t.Context(), "the first version", a.ended); err != nil {
				t.Fatal(err)
			}
			if err := (&Stage{}).settle(t.Context(), a); errors.Is(err, errUnstable) != c.unstable || err != nil && !c.unstable {
				t.Errorf("%v", err)
			}
		})
	}
}

// told is an API server whose watches tell of some versions, at a pace.
func told(t *testing.T, versions int, pace time.Duration, version func(int) any) *rest.Config {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		if r.URL.Query().Get("watch") == "" {
			_, _ = w.Write([]byte(`{"apiVersion": "kubeflow.org/v1", "kind": "TFJobList", "metadata": {"resourceVersion": "1"}, "items": []}`))
			return
		}
		for i := range versions {
			_ = json.NewEncoder(w).Encode(map[string]any{"type": "MODIFIED", "object": version(i)})
			_ = http.NewResponseController(w).Flush()
			select {
			case <-time.After(pace):
			case <-r.Context().Done():
				return
			}
		}
		<-r.Context().Done()
	}))
	t.Cleanup(s.Close)
	return &rest.Config{Host: s.URL}
}
