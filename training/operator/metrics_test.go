package operator

import (
	"strconv"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"stoic/schema"
	"stoic/training"
	"stoic/training/kinds"
	"stoic/training/plan"
)

// TestNoLabelHoldsAJob increments every counter of jobs. The labels are the namespace, the framework and the code.
func TestNoLabelHoldsAJob(t *testing.T) {
	registry := prometheus.NewRegistry()
	m := NewMetrics(registry)
	for _, c := range []plan.Counter{plan.CountCreated, plan.CountDeleted, plan.CountSucceeded, plan.CountFailed, plan.CountRestarted} {
		m.count(kinds.TFJob(), "team", schema.Count{Counter: string(c)})
	}
	for _, code := range schema.Codes() {
		m.count(kinds.TFJob(), "team", schema.Count{Counter: string(plan.CountRejected), Code: code})
	}
	m.count(kinds.TFJob(), "team", schema.Count{Counter: "no such counter"})
	for _, k := range training.PodProblemKinds() {
		m.count(kinds.TFJob(), "team", schema.Count{Counter: string(plan.CountProblem), Reason: k.Reason})
	}
	for _, reason := range []string{"mnist-worker-0", ""} {
		m.count(kinds.TFJob(), "team", schema.Count{Counter: string(plan.CountProblem), Reason: reason})
	}
	for _, cause := range schema.Causes() {
		m.count(kinds.TFJob(), "team", schema.Count{Counter: schema.CountRefused, Reason: string(cause)})
	}
	samples := 0
	eachLabel(t, registry, func(family, name, value string) {
		samples++
		if name == "job_namespace" && value != "team" || name == "framework" && value != "tensorflow" || strings.HasSuffix(name, "_name") {
			t.Errorf("%s: label %s=%q", family, name, value)
		}
	})
	// Successes and failures have a duration. Unknown problems of pods and unknown causes share the label "other".
	if want := 2*5 + 2*2 + 3*len(schema.Codes()) + 2*(len(training.PodProblemKinds())+len(schema.Causes())-1); samples != want {
		t.Errorf("%d labels, want %d", samples, want)
	}
}

// In a cluster that creates a namespace for every run, namespaces beyond a maximum share one label, so memory is bounded.
func TestNamespacesAreBounded(t *testing.T) {
	registry := prometheus.NewRegistry()
	m := NewMetrics(registry)
	for i := range mostNamespaces + 10 {
		m.count(kinds.TFJob(), "run-"+strconv.Itoa(i), schema.Count{Counter: string(plan.CountCreated)})
	}
	seen := map[string]bool{}
	eachLabel(t, registry, func(_, name, value string) {
		if name == "job_namespace" {
			seen[value] = true
		}
	})
	if len(seen) != mostNamespaces+1 || !seen[otherNamespaces] {
		t.Errorf("%d namespaces, and one for all others: %v", len(seen), seen[otherNamespaces])
	}
}

func eachLabel(t *testing.T, registry *prometheus.Registry, see func(family, name, value string)) {
	t.Helper()
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		for _, sample := range f.GetMetric() {
			for _, l := range sample.GetLabel() {
				see(f.GetName(), l.GetName(), l.GetValue())
			}
		}
	}
}
