package controller

import (
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/workqueue"

	"stoic/controller/plan"
	"stoic/schema"
)

// metrics are all that is counted. The first five are those of the operator that this one replaces, name for name.
// No label ever holds the name of a job.
type metrics struct {
	jobs     map[plan.Counter]*prometheus.CounterVec // job_namespace, framework
	rejected *prometheus.CounterVec                  // job_namespace, framework, reason

	served       *prometheus.GaugeVec   // kind
	watchErrors  *prometheus.CounterVec // kind
	liveReads    *prometheus.CounterVec // kind
	panics       prometheus.Counter
	events       *prometheus.CounterVec // result
	eventBacklog prometheus.Gauge

	// namespaces that have been a label. A cluster that makes a namespace for every run would otherwise fill the
	// memory of whoever keeps the samples, ours first.
	mu         sync.Mutex
	namespaces map[string]struct{}

	requests  *prometheus.CounterVec   // code, method, host
	durations *prometheus.HistogramVec // verb, host
	queues    *queueMetrics
}

// RegisterMetrics registers all that a controller counts. New does so itself; this is for those who want to know
// what there is without running one.
func RegisterMetrics(registry prometheus.Registerer) { newMetrics(registry) }

func newMetrics(registry prometheus.Registerer) *metrics {
	m := &metrics{jobs: map[plan.Counter]*prometheus.CounterVec{}, namespaces: map[string]struct{}{}}
	counter := func(name, help string, labels ...string) *prometheus.CounterVec {
		c := prometheus.NewCounterVec(prometheus.CounterOpts{Name: "training_operator_" + name, Help: help}, labels)
		registry.MustRegister(c)
		return c
	}
	for c, help := range map[plan.Counter]string{
		plan.CountCreated:   "Jobs that were accepted.",
		plan.CountDeleted:   "Jobs that were deleted because their time to live was over.",
		plan.CountSucceeded: "Jobs that succeeded.",
		plan.CountFailed:    "Jobs that failed.",
		plan.CountRestarted: "Restarts of replicas by the operator; several at once count once.",
	} {
		m.jobs[c] = counter("jobs_"+string(c)+"_total", help, "job_namespace", "framework")
	}
	m.rejected = counter("jobs_rejected_total", "Specs that were rejected, by the code of their first problem.", "job_namespace", "framework", "reason")
	m.watchErrors = counter("watch_errors_total", "Watches of jobs that could not start.", "kind")
	m.liveReads = counter("live_reads_total", "Passes that read from the API server because the caches lagged.", "kind")
	m.events = counter("events_total", "Events, by result: sent, known (the API server had it), refused, late (not told for most of an hour), postponed (no room; asked for again).", "result")
	m.panics = prometheus.NewCounter(prometheus.CounterOpts{Name: "training_operator_panics_total", Help: "Passes that panicked. Anything but 0 is a defect."})
	m.eventBacklog = prometheus.NewGauge(prometheus.GaugeOpts{Name: "training_operator_events_backlog", Help: "Events that wait to be sent."})
	m.served = prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "training_operator_kind_served", Help: "1 if the API server serves the kind and it is watched."}, []string{"kind"})
	m.requests = prometheus.NewCounterVec(prometheus.CounterOpts{Name: "rest_client_requests_total", Help: "Requests to the API server."}, []string{"code", "method", "host"})
	m.durations = prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: "rest_client_request_duration_seconds", Help: "Time to the first byte of the API server's answer.",
		Buckets: prometheus.ExponentialBuckets(0.001, 2, 15)}, []string{"verb", "host"})
	registry.MustRegister(m.panics, m.eventBacklog, m.served, m.requests, m.durations)
	m.queues = newQueueMetrics(registry)
	return m
}

// count notes a transition of one object.
func (m *metrics) count(head *schema.Head, c plan.Count) {
	if c.Counter == plan.CountRejected {
		m.rejected.WithLabelValues(m.namespace(head), head.Kind.Framework, string(c.Code)).Inc()
		return
	}
	if vec := m.jobs[c.Counter]; vec != nil {
		vec.WithLabelValues(m.namespace(head), head.Kind.Framework).Inc()
	}
}

const (
	mostNamespaces  = 2000
	otherNamespaces = "(others)"
)

// namespace is the label for an object's namespace. The first ones keep their names.
func (m *metrics) namespace(head *schema.Head) string {
	m.mu.Lock()
	defer m.mu.Unlock()
	if _, known := m.namespaces[head.Meta.Namespace]; !known {
		if len(m.namespaces) >= mostNamespaces {
			return otherNamespaces
		}
		m.namespaces[head.Meta.Namespace] = struct{}{}
	}
	return head.Meta.Namespace
}

// instrument returns a config whose clients count their requests. It wraps the transport of this config alone,
// where client-go's own hooks are global to the process.
func instrument(config *rest.Config, m *metrics) *rest.Config {
	c := rest.CopyConfig(config)
	c.Wrap(func(next http.RoundTripper) http.RoundTripper { return counting{next, m} })
	return c
}

type counting struct {
	next    http.RoundTripper
	metrics *metrics
}

func (c counting) RoundTrip(r *http.Request) (*http.Response, error) {
	begin := time.Now()
	response, err := c.next.RoundTrip(r)
	code := "<error>"
	if err == nil {
		code = strconv.Itoa(response.StatusCode)
	}
	c.metrics.requests.WithLabelValues(code, r.Method, r.URL.Host).Inc()
	c.metrics.durations.WithLabelValues(r.Method, r.URL.Host).Observe(time.Since(begin).Seconds())
	return response, err
}

// WrappedRoundTripper lets client-go find what it needs beneath.
func (c counting) WrappedRoundTripper() http.RoundTripper { return c.next }

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
		return prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: "workqueue_" + name, Help: help,
			Buckets: prometheus.ExponentialBuckets(1e-6, 10, 9)}, labels)
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
