package cache

import (
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"
)

// size is how many objects one cache holds. Caches of several versions of a kind share a gauge, which is their sum.
type size struct {
	gauge prometheus.Gauge
	n     atomic.Int64
}

func (s *size) add(n int64) {
	s.n.Add(n)
	s.gauge.Add(float64(n))
}

// empty is called when another informer begins with no objects.
func (s *size) empty() { s.gauge.Sub(float64(s.n.Swap(0))) }
