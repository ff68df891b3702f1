package serve

import (
	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/client-go/util/workqueue"
)

// Metrics are what the engine counts, whatever the operator. No label ever holds the name of an object.
type Metrics struct {
	Served          *prometheus.GaugeVec   // kind
	Pruned          *prometheus.GaugeVec   // kind
	WatchErrors     *prometheus.CounterVec // kind
	LiveReads       *prometheus.CounterVec // kind
	ConverterPanics *prometheus.CounterVec // kind
	Conversions     *prometheus.CounterVec // kind, result
	Cached          *prometheus.GaugeVec   // kind
	Leader          *prometheus.GaugeVec   // name
	Panics          prometheus.Counter
	Events          *prometheus.CounterVec // result
	EventBacklog    prometheus.Gauge
	Queues          workqueue.MetricsProvider

	requests   *prometheus.CounterVec   // code, method, host
	missing    *prometheus.CounterVec   // verb, resource
	durations  *prometheus.HistogramVec // verb, host
	reconciles reconciles
}

// NewMetrics registers all that the engine counts. The engine's own metrics have the prefix. Metrics that other operators have, too, keep
// their usual names: rest_client_*, workqueue_*, leader_election_*, and the controller_runtime_* of reconciles.
func NewMetrics(registry prometheus.Registerer, prefix string) *Metrics {
	m := &Metrics{}
	counter := func(name, help string, labels ...string) *prometheus.CounterVec {
		c := prometheus.NewCounterVec(prometheus.CounterOpts{Name: prefix + "_" + name, Help: help}, labels)
		registry.MustRegister(c)
		return c
	}
	m.WatchErrors = counter("watch_errors_total", "Lists and watches that failed.", "kind")
	m.LiveReads = counter("live_reads_total", "Reconciles that read from the API server because the caches lagged.", "kind")
	m.ConverterPanics = counter("converter_panics_total", "Panics while objects were read: of the converter, which rejects the object, or of Slim, Same or Claims of owned resources. Anything but 0 is a defect.", "kind")
	m.Conversions = counter("objects_converted_total", "Objects that were read and converted, by result: accepted, or rejected for what its events say.", "kind", "result")
	m.Events = counter("events_total", "Events, by result: sent, known (the API server had it), refused, late (not sent for most of an hour), postponed (too many wait; emitted again), dropped (too many wait; not emitted again).", "result")
	m.Panics = prometheus.NewCounter(prometheus.CounterOpts{Name: prefix + "_panics_total", Help: "Reconciles that panicked, and calls of Watch.Count that did. Anything but 0 is a defect."})
	m.EventBacklog = prometheus.NewGauge(prometheus.GaugeOpts{Name: prefix + "_events_backlog", Help: "Events that wait to be sent."})
	m.Served = prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: prefix + "_kind_served", Help: "1 if the API server serves the kind and it is watched."}, []string{"kind"})
	m.Pruned = prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: prefix + "_status_pruned", Help: "1 if the API server has not kept a field of the status that was written last, as the CRD is older; the log names the fields."}, []string{"kind"})
	m.Cached = prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: prefix + "_cached_objects", Help: "Objects in the caches; no labels or specs but what decisions depend on are kept of them."}, []string{"kind"})
	m.Leader = prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "leader_election_master_status", Help: "1 if this process may write: it holds the lease of this name, or there is no election and the name is that of the operator."}, []string{"name"})
	m.missing = counter("missing_rights_total", "Requests that the API server refused because this process has no right to them. Anything but 0 is for who installs it.", "verb", "resource")
	m.requests = prometheus.NewCounterVec(prometheus.CounterOpts{Name: "rest_client_requests_total", Help: "Requests to the API server."}, []string{"code", "method", "host"})
	m.durations = prometheus.NewHistogramVec(Histogram("rest_client_request_duration_seconds", "Time to the first byte of the API server's answer.",
		prometheus.ExponentialBuckets(0.001, 2, 15)), []string{"verb", "host"})
	registry.MustRegister(m.Panics, m.EventBacklog, m.Served, m.Pruned, m.Cached, m.Leader, m.requests, m.durations)
	m.Queues = newQueueMetrics(registry)
	m.reconciles = newReconciles(registry, prefix)
	return m
}

// queueMetrics gives workqueues the metrics that dashboards know.
type queueMetrics struct {
	depth, unfinished, longest *prometheus.GaugeVec
	adds, retries              *prometheus.CounterVec
	waited, worked             *prometheus.HistogramVec
}

var _ workqueue.MetricsProvider = (*queueMetrics)(nil)

func newQueueMetrics(registry prometheus.Registerer) *queueMetrics {
	labels := []string{"name", "controller"}
	gauge := func(name, help string) *prometheus.GaugeVec {
		return prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "workqueue_" + name, Help: help}, labels)
	}
	counter := func(name, help string) *prometheus.CounterVec {
		return prometheus.NewCounterVec(prometheus.CounterOpts{Name: "workqueue_" + name, Help: help}, labels)
	}
	histogram := func(name, help string) *prometheus.HistogramVec {
		return prometheus.NewHistogramVec(Histogram("workqueue_"+name, help, prometheus.ExponentialBuckets(1e-6, 10, 9)), labels)
	}
	q := &queueMetrics{
		depth:      gauge("depth", "Keys that wait."),
		unfinished: gauge("unfinished_work_seconds", "Time spent so far on keys that are being worked on."),
		longest:    gauge("longest_running_processor_seconds", "Time spent so far on the key that has been worked on for longest."),
		adds:       counter("adds_total", "Keys that were added."),
		retries:    counter("retries_total", "Keys that were added again after an error."),
		waited:     histogram("queue_duration_seconds", "How long keys waited."),
		worked:     histogram("work_duration_seconds", "How long keys were worked on."),
	}
	registry.MustRegister(q.depth, q.unfinished, q.longest, q.adds, q.retries, q.waited, q.worked)
	return q
}

func (q *queueMetrics) NewDepthMetric(n string) workqueue.GaugeMetric {
	return q.depth.WithLabelValues(n, n)
}
func (q *queueMetrics) NewAddsMetric(n string) workqueue.CounterMetric {
	return q.adds.WithLabelValues(n, n)
}
func (q *queueMetrics) NewLatencyMetric(n string) workqueue.HistogramMetric {
	return q.waited.WithLabelValues(n, n)
}
func (q *queueMetrics) NewWorkDurationMetric(n string) workqueue.HistogramMetric {
	return q.worked.WithLabelValues(n, n)
}
func (q *queueMetrics) NewUnfinishedWorkSecondsMetric(n string) workqueue.SettableGaugeMetric {
	return q.unfinished.WithLabelValues(n, n)
}
func (q *queueMetrics) NewLongestRunningProcessorSecondsMetric(n string) workqueue.SettableGaugeMetric {
	return q.longest.WithLabelValues(n, n)
}
func (q *queueMetrics) NewRetriesMetric(n string) workqueue.CounterMetric {
	return q.retries.WithLabelValues(n, n)
}
