package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"stoic/controller"
	"stoic/controller/conversion"
	"stoic/controller/program"
	"stoic/controller/serve"
	"stoic/convert"
	"stoic/training"
	"stoic/training/kinds"
	"stoic/training/operator"
)

// metrics lists every family that a real registry gathers once each has a sample.
func metrics() (string, error) {
	families, err := gather()
	if err != nil {
		return "", err
	}
	var rows [][]string
	for _, f := range families {
		rows = append(rows, []string{code(f.name), f.kind, list(f.labels), f.help})
	}
	return `# Metrics

Served on ` + "`/metrics`" + ` at ` + "`--metrics-bind-address`" + `, as plain HTTP, or with ` + "`--metrics-secure`" + ` over TLS to authorized clients. No
label ever holds the name of a job. ` + "`job_namespace`" + ` holds the names of the first 2000 namespaces that a process meets; further ones share
the value ` + "`(others)`" + `. Histograms have classic buckets and native ones. Other operators on the same engine have the metrics
without ` + "`job`" + ` in their names, with their own name in place of ` + "`training_operator`" + `.

` + table([]string{"name", "type", "labels", "what it counts"}, rows) + `
Metrics of the Go runtime (` + "`go_*`" + `) and of the process (` + "`process_*`" + `) are served, too.
`, nil
}

// family describes one metric family.
type family struct {
	name, kind, help string
	labels           []string
}

// gather registers everything that the operator itself registers and returns all families, sorted by name.
func gather() ([]family, error) {
	registry, err := registered()
	if err != nil {
		return nil, err
	}
	gathered, err := registry.Gather()
	if err != nil {
		return nil, fmt.Errorf("gather: %w", err)
	}
	families := make([]family, len(gathered))
	for i, g := range gathered {
		f := family{name: g.GetName(), kind: strings.ToLower(g.GetType().String()), help: g.GetHelp()}
		for _, m := range g.GetMetric() {
			for _, l := range m.GetLabel() {
				if !slices.Contains(f.labels, l.GetName()) {
					f.labels = append(f.labels, l.GetName())
				}
			}
		}
		families[i] = f
	}
	return families, nil
}

// registered returns a registry in which every family has a sample.
func registered() (*prometheus.Registry, error) {
	registry := prometheus.NewRegistry()
	all := &remembering{Registerer: registry}
	prefix := controller.MetricsPrefix(operator.Name)
	serve.NewMetrics(all, prefix)
	all.MustRegister(program.BuildOf("").Metric(prefix))
	if _, err := conversion.New(conversion.Options{Registry: all, Prefix: prefix}); err != nil {
		return nil, err
	}
	all.MustRegister(conversion.Expiry(prefix, func() (time.Time, error) { return time.Time{}, nil }))
	// One job is in the cache, for metrics that are computed from the cached jobs.
	kind := kinds.TFJob()
	job := &unstructured.Unstructured{Object: map[string]any{"metadata": map[string]any{"name": "a", "namespace": "b", "creationTimestamp": "2026-01-01T00:00:00Z"},
		"spec": map[string]any{"tfReplicaSpecs": map[string]any{"Worker": map[string]any{"template": map[string]any{"spec": map[string]any{
			"containers": []any{map[string]any{"name": "tensorflow", "image": "i"}}}}}}}}}
	for _, w := range operator.Watches([]*training.Kind{kind}, operator.NewMetrics(all)) {
		w.Cached(slices.Values([]*convert.Result{operator.Convert(kind, job)}))
	}
	for _, c := range all.collectors {
		if err := sample(c); err != nil {
			return nil, err
		}
	}
	return registry, nil
}

// remembering is a registry that records its collectors.
type remembering struct {
	prometheus.Registerer
	collectors []prometheus.Collector
}

func (r *remembering) Register(c prometheus.Collector) error {
	r.collectors = append(r.collectors, c)
	return r.Registerer.Register(c)
}

func (r *remembering) MustRegister(cs ...prometheus.Collector) {
	r.collectors = append(r.collectors, cs...)
	r.Registerer.MustRegister(cs...)
}

// sample makes one sample of a family with labels: a family without samples is not gathered.
func sample(c prometheus.Collector) error {
	switch vec := c.(type) {
	case *prometheus.CounterVec:
		return touch(vec.GetMetricWithLabelValues)
	case *prometheus.GaugeVec:
		return touch(vec.GetMetricWithLabelValues)
	case *prometheus.HistogramVec:
		return touch(vec.GetMetricWithLabelValues)
	}
	return nil
}

// touch makes a sample with as many label values as the family needs.
func touch[M any](metric func(...string) (M, error)) error {
	const most = 8
	for n := range most {
		if _, err := metric(make([]string, n)...); err == nil {
			return nil
		}
	}
	return errors.New("a family takes none of 0 to 7 label values")
}

func list(words []string) string {
	quoted := make([]string, len(words))
	for i, w := range words {
		quoted[i] = code(w)
	}
	return strings.Join(quoted, ", ")
}
