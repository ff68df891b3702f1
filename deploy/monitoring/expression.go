package monitoring

import (
	"fmt"
	"strings"
	"time"
)

// Three labels that Prometheus adds to a scraped series identify a process, and two an operator: its processes share a Service, so they
// share the job and the namespace. A Prometheus that adds no namespace distinguishes operators by job alone.
const (
	operatorLabels = "namespace, job"
	processLabels  = "namespace, job, instance"
)

// build is a metric that only this operator has. Each process has one series of it, which is always 1.
const build = "training_operator_build_info"

// ours keeps the series of our processes of a metric that other operators have under the same name. A process is identified by the build
// metric that it also serves, not by the job: its name depends on who wrote the scrape configuration.
func ours(expression string) string {
	return fmt.Sprintf("%s and on (%s) %s", expression, processLabels, build)
}

// by adds up the series of an operator, and keeps further labels.
func by(aggregation, labels, expression string) string {
	all := operatorLabels
	if labels != "" {
		all += ", " + labels
	}
	return fmt.Sprintf("%s by (%s) (\n%s\n)", aggregation, all, indent(expression))
}

// rate returns the rate of a counter that other operators have, too.
func rate(counter, window string) string { return ours(fmt.Sprintf("rate(%s[%s])", counter, window)) }

// grown returns by how much a counter has grown within a window. Its series begin with the first event, at 1: increase() does not see
// that event, and for most namespaces it is the only one. So a series that did not exist when the window began counts in full. The series
// must have begun within the window, as far as is known: its process was scraped before the window, or started within it. Otherwise every
// past event would count as new for a new Prometheus.
func grown(counter string, window time.Duration) string {
	w := short(window)
	return fmt.Sprintf(`increase(%[1]s[%[2]s]) and %[1]s offset %[2]s
or
(%[1]s unless %[1]s offset %[2]s)
  and on (%[3]s) (%[4]s offset %[2]s or process_start_time_seconds > time() - %[5]d)`, counter, w, processLabels, build, int(window.Seconds()))
}

// quantile returns that of a classic histogram over the processes of an operator, from the rates of its buckets.
func quantile(q float64, labels, buckets string) string {
	return fmt.Sprintf("histogram_quantile(%v,\n%s\n)", q, indent(by("sum", labels+", le", buckets)))
}

// short writes a duration in the form of PromQL: 15m, not 15m0s.
func short(d time.Duration) string {
	text := d.String()
	if strings.HasSuffix(text, "m0s") {
		text = strings.TrimSuffix(text, "0s")
	}
	if strings.HasSuffix(text, "h0m") {
		text = strings.TrimSuffix(text, "0m")
	}
	return text
}

func indent(text string) string { return "  " + strings.ReplaceAll(text, "\n", "\n  ") }
