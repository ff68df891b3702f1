package monitoring

import (
	"fmt"
	"strings"
	"time"
)

// Recording is a rule that keeps the result of an expression as a series.
type Recording struct {
	// Record is LEVEL:METRIC:OPERATION. A level that begins with operator has the labels namespace and job of the scraped target, and
	// those that follow.
	Record, Expression string
	// What describes it, for the documentation.
	What string
}

// Recordings returns what dashboards query repeatedly, and what alerts compare.
func Recordings() []Recording { return append(operatorRecordings(), jobRecordings()...) }

const step = 15 * time.Minute // window of counts of jobs: they change over minutes and hours

// operatorRecordings leave out the processes of other operators, and add up the processes of one.
func operatorRecordings() []Recording {
	return []Recording{
		{"operator_controller_result:controller_runtime_reconcile:rate5m", by("sum", "controller, result", rate("controller_runtime_reconcile_total", "5m")),
			"reconciles per second, by result"},
		{"operator_controller:controller_runtime_reconcile_time_seconds:p50_5m", quantile(0.5, "controller", rate("controller_runtime_reconcile_time_seconds_bucket", "5m")),
			"half of all reconciles took no longer"},
		{"operator_controller:controller_runtime_reconcile_time_seconds:p99_5m", quantile(0.99, "controller", rate("controller_runtime_reconcile_time_seconds_bucket", "5m")),
			"99 of 100 reconciles took no longer"},
		{"operator_controller:workqueue_queue_duration_seconds:p99_5m", quantile(0.99, "controller", rate("workqueue_queue_duration_seconds_bucket", "5m")),
			"99 of 100 keys waited no longer"},
		{"operator_controller:workqueue_depth:sum", by("sum", "controller", ours("workqueue_depth")), "keys that wait"},
		{"operator_code_method:rest_client_requests:rate5m", by("sum", "code, method", rate("rest_client_requests_total", "5m")),
			"requests to the API server per second, by answer"},
		{"operator_verb:rest_client_request_duration_seconds:p99_5m", quantile(0.99, "verb", rate("rest_client_request_duration_seconds_bucket", "5m")),
			"99 of 100 requests to the API server took no longer"},
	}
}

// jobRecordings count what happened to jobs, including the first event of a namespace.
func jobRecordings() []Recording {
	return []Recording{
		created(), ended("successful", step), ended("failed", step), ended("restarted", step), ended("deleted", step), rejections(),
		ended("successful", time.Hour), ended("failed", time.Hour),
		{"operator_framework_reason:training_operator_job_problems:increase15m", by("sum", "framework, reason", grown("training_operator_job_problems_total", step)),
			"events within a quarter of an hour about pods that cannot run and objects that could not be created"},
		{"operator_framework:training_operator_job_start_latency_seconds:p50_1h", quantile(0.5, "framework", "rate(training_operator_job_start_latency_seconds_bucket[1h])"),
			"half of the jobs that began to run within an hour waited no longer"},
		{"operator_framework:training_operator_job_start_latency_seconds:p95_1h", quantile(0.95, "framework", "rate(training_operator_job_start_latency_seconds_bucket[1h])"),
			"95 of 100 jobs that began to run within an hour waited no longer"},
		{"operator_framework_result:training_operator_job_duration_seconds:p50_1h", quantile(0.5, "framework, result", "rate(training_operator_job_duration_seconds_bucket[1h])"),
			"half of the jobs that ended within an hour took no longer"},
	}
}

func created() Recording { return ended("created", step) }

// ended counts jobs by outcome, with the words of training_operator_jobs_*_total.
func ended(as string, within time.Duration) Recording {
	return counted(as, "job_namespace, framework", within)
}

// rejections are also counted by the first problem.
func rejections() Recording { return counted("rejected", "job_namespace, framework, reason", step) }

func counted(as, labels string, within time.Duration) Recording {
	metric := "training_operator_jobs_" + as
	return Recording{
		fmt.Sprintf("operator_%s:%s:increase%s", strings.ReplaceAll(labels, ", ", "_"), metric, short(within)),
		by("sum", labels, grown(metric+"_total", within)),
		fmt.Sprintf("jobs that were %s within %s", as, map[time.Duration]string{step: "a quarter of an hour", time.Hour: "an hour"}[within]),
	}
}
