package cache

import (
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
)

// TestSize: caches of two versions of a kind share a gauge; one that begins again subtracts only its own part.
func TestSize(t *testing.T) {
	gauge := prometheus.NewGauge(prometheus.GaugeOpts{Name: "x"})
	one, other := size{gauge: gauge}, size{gauge: gauge}
	one.add(1)
	one.add(1)
	other.add(1)
	one.add(-1)
	if n := testutil.ToFloat64(gauge); n != 2 {
		t.Errorf("%v, want 2", n)
	}
	one.empty()
	one.empty()
	if n := testutil.ToFloat64(gauge); n != 1 {
		t.Errorf("%v, want 1", n)
	}
}
