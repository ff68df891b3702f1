package serve

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Outcome is the result of a reconcile.
type Outcome int

const (
	Succeeded Outcome = iota // nothing is left to do
	Later                    // it looks again at a time that it knows: a deadline, a cache that is behind
	Refused                  // the API server refuses something until something is changed
	Denied                   // its admission refuses something, as by a quota, and may admit it later
	Retry                    // something failed, and is tried again
	Panicked
	outcomes
)

// reconciles are the families; Reconciles are those of one watch.
type reconciles struct {
	total    *prometheus.CounterVec   // controller, result
	errors   *prometheus.CounterVec   // controller
	classes  *prometheus.CounterVec   // kind, class
	duration *prometheus.HistogramVec // controller
	active   *prometheus.GaugeVec     // controller
	workers  *prometheus.GaugeVec     // controller
}

func newReconciles(registry prometheus.Registerer, prefix string) reconciles {
	const common = "controller_runtime_"
	controller := []string{"controller"}
	r := reconciles{
		total: prometheus.NewCounterVec(prometheus.CounterOpts{Name: common + "reconcile_total",
			Help: "Reconciles, by result: success, requeue_after (it looks again at a time that it knows), error."}, []string{"controller", "result"}),
		errors: prometheus.NewCounterVec(prometheus.CounterOpts{Name: common + "reconcile_errors_total", Help: "Reconciles that failed."}, controller),
		classes: prometheus.NewCounterVec(prometheus.CounterOpts{Name: prefix + "_reconcile_errors_total",
			Help: "Reconciles that failed, by class: refused (by the API server, until something is changed), denied (by its admission, for example a quota: its author can correct it), retry (any other error that may pass), panic (a defect)."}, []string{"kind", "class"}),
		duration: prometheus.NewHistogramVec(Histogram(common+"reconcile_time_seconds", "How long reconciles took.", prometheus.ExponentialBuckets(0.001, 2, 16)), controller),
		active:   prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: common + "active_workers", Help: "Reconciles that run."}, controller),
		workers:  prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: common + "max_concurrent_reconciles", Help: "Reconciles that may run at the same time."}, controller),
	}
	registry.MustRegister(r.total, r.errors, r.classes, r.duration, r.active, r.workers)
	return r
}

// Histogram returns options with these buckets and, for scrapers that accept them, native ones that are at most a tenth
// apart.
func Histogram(name, help string, buckets []float64) prometheus.HistogramOpts {
	return prometheus.HistogramOpts{Name: name, Help: help, Buckets: buckets,
		NativeHistogramBucketFactor: 1.1, NativeHistogramMaxBucketNumber: 100, NativeHistogramMinResetDuration: time.Hour}
}

// Reconciles counts the reconciles of one watch. Its series are looked up once, and exist from the beginning: a rate
// needs the 0 before the first 1.
type Reconciles struct {
	active                         prometheus.Gauge
	duration                       prometheus.Observer
	success, later, failed, errors prometheus.Counter
	classes                        [outcomes]prometheus.Counter // of the outcomes that are errors
}

// Reconciles returns the counters of a watch, by the name of its queue, the label of its kind, and how many reconciles
// may run at the same time.
func (m *Metrics) Reconciles(controller, kind string, workers int) *Reconciles {
	all := m.reconciles
	all.workers.WithLabelValues(controller).Set(float64(workers))
	r := &Reconciles{active: all.active.WithLabelValues(controller), duration: all.duration.WithLabelValues(controller),
		success: all.total.WithLabelValues(controller, "success"), later: all.total.WithLabelValues(controller, "requeue_after"),
		failed: all.total.WithLabelValues(controller, "error"), errors: all.errors.WithLabelValues(controller)}
	for outcome, class := range map[Outcome]string{Refused: "refused", Denied: "denied", Retry: "retry", Panicked: "panic"} {
		r.classes[outcome] = all.classes.WithLabelValues(kind, class)
	}
	return r
}

// Begin counts a reconcile that begins.
func (r *Reconciles) Begin() { r.active.Inc() }

// End counts a reconcile that has ended.
func (r *Reconciles) End(took time.Duration, outcome Outcome) {
	r.active.Dec()
	r.duration.Observe(took.Seconds())
	switch outcome {
	case Succeeded:
		r.success.Inc()
	case Later:
		r.later.Inc()
	default:
		r.failed.Inc()
		r.errors.Inc()
		r.classes[outcome].Inc()
	}
}
