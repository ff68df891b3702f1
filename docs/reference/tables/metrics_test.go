package main

import (
	"testing"

	"github.com/prometheus/client_golang/prometheus/testutil"
)

// TestMetricsFollowConventions: promlint reports nothing about any name, unit or text. Every family has a sample here.
func TestMetricsFollowConventions(t *testing.T) {
	registry, err := registered()
	if err != nil {
		t.Fatal(err)
	}
	problems, err := testutil.GatherAndLint(registry)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range problems {
		t.Errorf("%s: %s", p.Metric, p.Text)
	}
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		for _, m := range f.GetMetric() {
			if h := m.GetHistogram(); h != nil && (len(h.GetBucket()) == 0 || h.GetSchema() == 0) {
				t.Errorf("%s has %d classic buckets and native ones of schema %d; it must have both", f.GetName(), len(h.GetBucket()), h.GetSchema())
			}
		}
	}
	if n, err := testutil.GatherAndCount(registry); err != nil || n < 35 {
		t.Errorf("%d series, %v", n, err)
	}
}
