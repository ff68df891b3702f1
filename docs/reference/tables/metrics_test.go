package main

import (
	"testing"

	"github.com/prometheus/client_golang/prometheus/testutil"
)

// TestMetricsFollowConventions: promlint has nothing to say of any name, unit or text. Every family has a sample here.
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
	if n, err := testutil.GatherAndCount(registry); err != nil || n < 35 {
		t.Errorf("%d series, %v", n, err)
	}
}
