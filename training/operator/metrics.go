package operator

import (
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"stoic/schema"
	"stoic/training"
	"stoic/training/plan"
)

// Metrics count what happens to jobs. The names are those of training-operator; no label ever holds
// the name of a job.
type Metrics struct {
	jobs     map[plan.Counter]*prometheus.CounterVec // job_namespace, framework
	rejected *prometheus.CounterVec                  // job_namespace, framework, reason
	problems *prometheus.CounterVec                  // framework, reason
	latency  *prometheus.HistogramVec                // framework
	duration *prometheus.HistogramVec                // framework, result
	census   *census

	// namespaces holds the namespaces that are used as a label. It is bounded, because a cluster that creates a
	// namespace for every run would otherwise fill the memory of this process and of the metrics store.
	mu         sync.Mutex
	namespaces map[string]struct{}
}

// NewMetrics creates and registers the metrics.
func NewMetrics(registry prometheus.Registerer) *Metrics {
	m := &Metrics{jobs: map[plan.Counter]*prometheus.CounterVec{}, namespaces: map[string]struct{}{}}
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
	m.problems = counter("job_problems_total",
		"Events about pods that cannot run and objects that could not be created, one for each job and reason; see docs/reference/events.md.", "framework", "reason")
	m.latency = prometheus.NewHistogramVec(histogram("job_start_latency_seconds",
		"How long jobs waited until they ran, since they were made or resumed. Each is observed once, by the process that writes that it runs.", latencies()), []string{"framework"})
	m.duration = prometheus.NewHistogramVec(histogram("job_duration_seconds",
		"How long jobs took until they succeeded or failed, since they were accepted or resumed. Each is observed once, by the process that writes its end.", durations()), []string{"framework", "result"})
	m.census = newCensus(m.namespace)
	registry.MustRegister(m.latency, m.duration, m.census)
	return m
}

// histogram returns options with classic buckets and, for scrapers that support them, native buckets that grow by at most 10 %.
func histogram(name, help string, buckets []float64) prometheus.HistogramOpts {
	return prometheus.HistogramOpts{Name: "training_operator_" + name, Help: help, Buckets: buckets,
		NativeHistogramBucketFactor: 1.1, NativeHistogramMaxBucketNumber: 100, NativeHistogramMinResetDuration: time.Hour}
}

const minute, hour, day = 60, 60 * 60, 24 * 60 * 60 // seconds

// latencies returns buckets for the start latency: images take seconds or minutes, new nodes minutes, quota hours.
func latencies() []float64 {
	return []float64{1, 2, 5, 10, 20, 30, minute, 2 * minute, 5 * minute, 10 * minute, 30 * minute, hour, 4 * hour, 12 * hour, day}
}

// durations returns buckets for the duration of a job: from a short test to a month.
func durations() []float64 {
	return []float64{10, 30, minute, 5 * minute, 15 * minute, 30 * minute, hour, 2 * hour, 4 * hour, 8 * hour, 16 * hour, day, 2 * day, 4 * day, 8 * day, 16 * day, 32 * day}
}

// count counts a transition of one job.
func (m *Metrics) count(kind *training.Kind, namespace string, c schema.Count) {
	switch c.Counter {
	case string(plan.CountRejected):
		m.rejected.WithLabelValues(m.namespace(namespace), kind.Framework, string(c.Code)).Inc()
		return
	case string(plan.CountProblem):
		m.problems.WithLabelValues(kind.Framework, training.PodProblemLabel(c.Reason)).Inc()
		return
	case schema.CountRefused:
		m.problems.WithLabelValues(kind.Framework, c.Reason).Inc()
		return
	}
	switch plan.Counter(c.Counter) {
	case plan.CountStarted:
		m.latency.WithLabelValues(kind.Framework).Observe(c.Took.Seconds())
	case plan.CountSucceeded:
		m.duration.WithLabelValues(kind.Framework, "succeeded").Observe(c.Took.Seconds())
	case plan.CountFailed:
		m.duration.WithLabelValues(kind.Framework, "failed").Observe(c.Took.Seconds())
	}
	if vec := m.jobs[plan.Counter(c.Counter)]; vec != nil {
		vec.WithLabelValues(m.namespace(namespace), kind.Framework).Inc()
	}
}

const (
	mostNamespaces  = 2000
	otherNamespaces = "(others)"
)

// namespace returns the label for the namespace of a job. After mostNamespaces namespaces, new ones share one label.
func (m *Metrics) namespace(of string) string {
	m.mu.Lock()
	defer m.mu.Unlock()
	if _, known := m.namespaces[of]; !known {
		if len(m.namespaces) >= mostNamespaces {
			return otherNamespaces
		}
		m.namespaces[of] = struct{}{}
	}
	return of
}
