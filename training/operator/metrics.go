package operator

import (
	"sync"

	"github.com/prometheus/client_golang/prometheus"

	"stoic/schema"
	"stoic/training"
	"stoic/training/plan"
)

// Metrics count what happens to jobs. The names are those of the operator that this one replaces; no label ever holds
// the name of a job.
type Metrics struct {
	jobs     map[plan.Counter]*prometheus.CounterVec // job_namespace, framework
	rejected *prometheus.CounterVec                  // job_namespace, framework, reason
	problems *prometheus.CounterVec                  // framework, reason

	// namespaces that have been a label. A cluster that makes a namespace for every run would otherwise fill the
	// memory of who keeps the samples, ours first.
	mu         sync.Mutex
	namespaces map[string]struct{}
}

// NewMetrics registers them.
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
	return m
}

// count notes a transition of one job.
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
	if vec := m.jobs[plan.Counter(c.Counter)]; vec != nil {
		vec.WithLabelValues(m.namespace(namespace), kind.Framework).Inc()
	}
}

const (
	mostNamespaces  = 2000
	otherNamespaces = "(others)"
)

// namespace is the label for the namespace of a job. The first ones keep their names.
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
