package serve

import (
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// TestCountingAReconcileMakesNothing: it allocates nothing, as it is done for each reconcile.
func TestCountingAReconcileMakesNothing(t *testing.T) {
	r := NewMetrics(prometheus.NewRegistry(), "test_operator").Reconciles("widgets", "Widget", 8)
	count := func() {
		for outcome := range outcomes {
			r.Begin()
			r.End(20*time.Millisecond, outcome)
		}
	}
	count() // the native bucket
	if n := testing.AllocsPerRun(100, count); n > 0 {
		t.Errorf("%v allocations for %d reconciles", n, outcomes)
	}
}

// BenchmarkReconcileCounts measures what counting adds to a reconcile.
func BenchmarkReconcileCounts(b *testing.B) {
	r := NewMetrics(prometheus.NewRegistry(), "test_operator").Reconciles("widgets", "Widget", 8)
	b.ReportAllocs()
	for b.Loop() {
		r.Begin()
		r.End(20*time.Millisecond, Succeeded)
	}
}
