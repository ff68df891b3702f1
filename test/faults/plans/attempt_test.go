package plans

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"stoic/test/faults/history"
	"stoic/test/faults/proxy"
	"stoic/test/faults/sandbox"
	"stoic/test/faults/scenario"
)

// TestEndStateStays: an operator that reaches the end state again and again fails the plan, whatever the state is at the moment
// of the judgement. A state that is reached shortly before patience ends still has its time to show that it lasts.
func TestEndStateStays(t *testing.T) {
	const patience, often = time.Second, 100 * time.Millisecond
	for name, c := range map[string]struct {
		states   []string // of the job, one after another; the first is the end state
		pace     time.Duration
		unstable bool
	}{
		"it stays":                  {[]string{"Succeeded"}, often, false},
		"it comes and goes":         {slices.Repeat([]string{"Succeeded", "Running"}, 20), often, true},
		"it goes":                   {[]string{"Succeeded", "Running"}, often, true},
		"it goes after patience":    {[]string{"Succeeded", "Running"}, patience + 2*often, true},
		"it goes and comes to stay": {[]string{"Succeeded", "Running", "Succeeded"}, often, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var err error
			for range 5 { // a busy machine delays some versions, a defect judges all of them wrongly
				err = settleOn(t, patience, c.pace, c.states)
				if errors.Is(err, errUnstable) == c.unstable && (err == nil || c.unstable) {
					return
				}
			}
			t.Errorf("%v", err)
		})
	}
}

// settleOn returns how a wait for the end state ends if the job has these states, one after another.
func settleOn(t *testing.T, patience, pace time.Duration, states []string) error {
	t.Helper()
	job := func(i int) history.Version {
		v := version(0, watch.Modified, scenario.TFJobs(), "j", "job", map[string]any{"apiVersion": "kubeflow.org/v1", "kind": "TFJob",
			"status": map[string]any{"conditions": []any{map[string]any{"type": states[i], "status": "True"}}}})
		v.Object.SetResourceVersion(strconv.Itoa(i + 2))
		return v
	}
	recorder, err := history.Record(t.Context(), reporting(t, len(states), pace, func(i int) any { return job(i).Object.Object }), scenario.TFJobs())
	if err != nil {
		t.Fatal(err)
	}
	a := &Attempt{Plan: Plan{Scenario: scenario.All()[0], patience: patience}, Run: recorder.RunOf(aJob())}
	a.Reference.Digest = history.Of(aJob(), job(0)).View().Digest(a.Scenario.Operator.Rules.Status)
	if err := a.Run.Await(t.Context(), "the first version", a.ended); err != nil {
		t.Fatal(err)
	}
	return (&Stage{}).settle(t.Context(), a)
}

// TestEndStateIsLeft: a state that the operator left before the rig began to wait for that does not count as stable.
func TestEndStateIsLeft(t *testing.T) {
	job := func(at float64, condition string) history.Version {
		return version(at, watch.Modified, scenario.TFJobs(), "j", "job", map[string]any{"apiVersion": "kubeflow.org/v1", "kind": "TFJob",
			"status": map[string]any{"conditions": []any{map[string]any{"type": condition, "status": "True"}}}})
	}
	end := history.Of(aJob(), job(1, "Succeeded"))
	a := &Attempt{Plan: Plan{Scenario: scenario.All()[0]}, Run: end}
	a.Reference.Digest = end.View().Digest(a.Scenario.Operator.Rules.Status)
	if left, _ := a.left(a.Run.View()); left {
		t.Error("the end state is taken for another one")
	}
	a.Run = history.Of(aJob(), job(1, "Succeeded"), job(2, "Running"))
	if left, _ := a.left(a.Run.View()); !left {
		t.Error("the end state has been left, and that is not noticed")
	}
}

// TestJudgeAsksTheRig: a record that may lack versions is a failure of the rig, and a write to an object outside the rig is a violation.
func TestJudgeAsksTheRig(t *testing.T) {
	job := version(0, watch.Added, scenario.TFJobs(), "j", "job", map[string]any{"apiVersion": "kubeflow.org/v1", "kind": "TFJob"}).Object
	server := reporting(t, 2, 0, func(i int) any {
		if i == 1 {
			return map[string]any{"kind": "Status", "apiVersion": "v1", "code": http.StatusGone, "reason": "Expired"} // the list that follows does not have the job
		}
		return job.Object
	})
	recorder, err := history.Record(t.Context(), server, scenario.TFJobs())
	if err != nil {
		t.Fatal(err)
	}
	c, err := sandbox.Open(sandbox.Options{Operator: []string{"none"}, Upstream: server, Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := c.Close(context.Background()); err != nil {
			t.Error(err)
		}
	}()
	a := &Attempt{Plan: Plan{Scenario: scenario.All()[0]}, Sandbox: c, Track: &proxy.Track{}, Run: recorder.RunOf(aJob()), worker: &worker{logs: map[*sandbox.Sandbox]int64{}}}
	if err := a.Run.Await(t.Context(), "the gap", func(history.View) (bool, string) { return len(a.Run.Gaps()) > 0, "none" }); err != nil {
		t.Fatal(err)
	}
	client, err := rest.HTTPClientFor(c.Proxy.Config())
	if err != nil {
		t.Fatal(err)
	}
	response, err := client.Post(c.Proxy.Config().Host+"/api/v1/namespaces/ns/configmaps", "application/json", strings.NewReader(`{"metadata":{"name":"x"}}`))
	if err != nil {
		t.Fatal(err)
	}
	response.Body.Close()
	found := (&Stage{}).judge(a, context.Canceled) // there is no reference to compare with
	if len(found) != 2 || found[0].Oracle != "O6" || found[1].Oracle != "rig" {
		t.Errorf("found %v", found)
	}
	a.began = time.Now()
	if found := (&Stage{}).judge(a, context.Canceled); len(found) > 0 {
		t.Errorf("of the next run: %v", found)
	}
}

// TestBystander: a foreign object is unchanged at the end.
func TestBystander(t *testing.T) {
	for name, c := range map[string]struct {
		is   corev1.ConfigMap
		want bool
	}{
		"as it was": {corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: bystander, UID: "u", ResourceVersion: "7"}}, true},
		"written":   {corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: bystander, UID: "u", ResourceVersion: "8"}}, false},
		"recreated": {corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: bystander, UID: "v", ResourceVersion: "7"}}, false},
	} {
		config := reporting(t, 0, 0, nil, c.is)
		s := &Stage{typed: kubernetes.NewForConfigOrDie(config)}
		w := &worker{bystander: &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{UID: "u", ResourceVersion: "7"}}, places: scenario.Places{Namespace: "ns"}}
		if err := s.untouched(t.Context(), w); (err == nil) != c.want {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// reporting starts an API server whose watches report some versions, at a pace. It answers other requests with the object, or
// with an empty list.
func reporting(t *testing.T, versions int, pace time.Duration, version func(int) any, object ...any) *rest.Config {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		if len(object) > 0 {
			_ = json.NewEncoder(w).Encode(object[0])
			return
		}
		if r.URL.Query().Get("watch") == "" {
			_, _ = w.Write([]byte(`{"apiVersion": "kubeflow.org/v1", "kind": "TFJobList", "metadata": {"resourceVersion": "1"}, "items": []}`))
			return
		}
		for i := range versions {
			object, kind := version(i), "MODIFIED"
			if m, is := object.(map[string]any); is && m["kind"] == "Status" {
				kind = "ERROR"
			}
			_ = json.NewEncoder(w).Encode(map[string]any{"type": kind, "object": object})
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
