package cli

import (
	"net/http"

	"github.com/prometheus/client_golang/prometheus"
)

// endpoint is one address that the operator listens on, and what it answers there.
type endpoint struct {
	address, name string
	handler       http.Handler
}

// buildInfo is a metric that is always 1 and says in its labels what runs.
func buildInfo() prometheus.Collector {
	b := build()
	return prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "training_operator_build_info", Help: "What runs; always 1.",
		ConstLabels: prometheus.Labels{"version": b.Version, "revision": b.Revision, "goversion": b.Go}}, func() float64 { return 1 })
}
