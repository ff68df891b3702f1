package conversion

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"stoic/controller/serve"
)

// Results of requests.
const (
	resultConverted = "converted"
	resultFailed    = "failed"
	resultRefused   = "refused"
)

// Outcomes that only the webhook has. Others are versions.Outcome.
const (
	outcomeRefused = "refused" // an object that is not of these kinds
	outcomeCut     = "cut"     // an object of a review of more levels than can be read
)

type metrics struct {
	objects   *prometheus.CounterVec // kind, from, to, outcome
	requests  *prometheus.CounterVec // result
	durations prometheus.Histogram
}

func newMetrics(registry prometheus.Registerer, prefix string) *metrics {
	m := &metrics{
		objects: prometheus.NewCounterVec(prometheus.CounterOpts{Name: prefix + "_conversion_objects_total",
			Help: "Objects that API servers asked for in another version, by outcome: converted, passed_through (only apiVersion changed), not_kept (the API server would refuse the annotation), panicked (a defect), cut (its review is nested deeper than can be read, and what is below is left out), refused (not of these kinds)."},
			[]string{"kind", "from", "to", "outcome"}),
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{Name: prefix + "_conversion_requests_total",
			Help: "Requests to the conversion webhook, by result: converted, failed (a review that was answered with Failure), refused (no review that could be answered)."}, []string{"result"}),
		durations: prometheus.NewHistogram(serve.Histogram(prefix+"_conversion_duration_seconds", "Time to answer a review.", prometheus.ExponentialBuckets(0.0001, 2, 15))),
	}
	registry.MustRegister(m.objects, m.requests, m.durations)
	return m
}

// Expiry returns a metric that says when the certificate of the webhook ends; 0 if that is not known.
func Expiry(prefix string, end func() (time.Time, error)) prometheus.Collector {
	return prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: prefix + "_conversion_certificate_not_after_timestamp_seconds",
		Help: "When the certificate of the conversion webhook ends, in seconds since 1970. From then on no object can be read in another version than it is stored in."},
		func() float64 {
			at, err := end()
			if err != nil {
				return 0
			}
			return float64(at.Unix())
		})
}
