package monitoring

import (
	"fmt"
	"time"
)

// work: is what must be done done?
func work() []Alert {
	return []Alert{
		{
			Name: "TrainingOperatorReconcileErrors", Severity: Warning, For: 15 * time.Minute,
			// What the API server or its admission refuses is the affair of who owns the job. A reconcile in which anything else has failed,
			// too, is in no class that is left out.
			Expression: fmt.Sprintf("%s\n/\n%s > 0.1",
				by("sum", "", `rate(training_operator_reconcile_errors_total{class!~"refused|denied"}[10m])`),
				by("sum", "", rate("controller_runtime_reconcile_total", "10m"))),
			Summary:     "More than a tenth of the training operator's reconciles fail.",
			Description: at + ` fails in {{ $value | humanizePercentage }} of its reconciles. Those are left out in which a quota, admission or validation refuses an object.`,
		},
		{
			Name: "TrainingOperatorReconcileStuck", Severity: Warning,
			// A reconcile ends after two minutes. After four /healthz fails, and within a minute of that the kubelet restarts the container.
			Expression:  by("max", "controller", ours(jobQueues("workqueue_longest_running_processor_seconds"))) + " > 150",
			Summary:     "A reconcile of the training operator does not end.",
			Description: at + ` has been working on one object in {{ $labels.controller }} for {{ $value | humanizeDuration }}. That object waits, and a worker is missing for the others.`,
		},
		{
			Name: "TrainingOperatorQueueBacklog", Severity: Warning, For: 15 * time.Minute,
			Expression:  by("sum", "controller", ours(jobQueues("workqueue_depth"))) + " > 100",
			Summary:     "Jobs wait for the training operator.",
			Description: at + ` has had more than 100 keys waiting in {{ $labels.controller }} for a quarter of an hour, {{ $value }} now. Jobs start late, and their ends are seen late.`,
		},
		{
			Name: "TrainingOperatorPanics", Severity: Warning,
			Expression:  by("sum", "", grown("training_operator_panics_total", time.Hour)) + " > 0",
			Summary:     "A reconcile of the training operator has panicked, which is a defect.",
			Description: at + ` has panicked in a reconcile within the last hour. The object is tried again, and the others are not disturbed; the log has the stack.`,
		},
		{
			Name: "TrainingOperatorConverterPanics", Severity: Warning,
			// A new version that panics on a stored object does so in its first list, before it is scraped: its series begins at 1 and stays.
			Expression:  by("sum", "kind", grown("training_operator_converter_panics_total", time.Hour)) + " > 0",
			Summary:     "The training operator has panicked while it read an object, which is a defect.",
			Description: at + ` has panicked while it read an object of kind {{ $labels.kind }} within the last hour. That object is rejected, or, if it belongs to a job, that job may not get further. The others are not disturbed; the log has the stack.`,
		},
		{
			Name: "TrainingOperatorLiveReads", Severity: Warning, For: 15 * time.Minute,
			Expression: fmt.Sprintf("%[1]s\n/\n%[2]s > 0.5\nand\n%[2]s > 1",
				by("sum", "", "rate(training_operator_live_reads_total[15m])"),
				by("sum", "", rate("controller_runtime_reconcile_total", "15m"))),
			Summary:     "The training operator's caches lag behind its own writes.",
			Description: at + ` reads from the API server in {{ $value | humanizePercentage }} of its reconciles, as its watches do not bring its own writes in time.`,
		},
	}
}

// jobQueues leaves out the queue of events. They are sent at a bounded rate, so that queue is long whenever many jobs were rejected at once;
// TrainingOperatorEventsBacklog is about it.
func jobQueues(metric string) string { return metric + `{controller!="events"}` }
