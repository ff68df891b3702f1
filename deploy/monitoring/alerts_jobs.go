package monitoring

import (
	"fmt"
	"time"
)

// jobs: what is wrong with the jobs themselves? These go to whoever owns the namespace.
func jobs() []Alert {
	const where = "job_namespace, framework"
	failed, succeeded := ended("failed", time.Hour), ended("successful", time.Hour)
	return []Alert{
		{
			Name: "TrainingJobsRejected", Severity: Info,
			Expression:  rejections().Record + " > 0",
			Summary:     "Specs of training jobs were rejected.",
			Description: `{{ $labels.framework }} jobs in namespace {{ $labels.job_namespace }} that were rejected within a quarter of an hour, for {{ $labels.reason }}: {{ $value | printf "%.0f" }}. The events of each job say what is wrong, where, and what to write instead.`,
		},
		{
			Name: "TrainingJobStuckPending", Severity: Info, For: 5 * time.Minute,
			Expression:  fmt.Sprintf("time() - %s > 3600", by("min", where, "training_operator_oldest_pending_job_timestamp_seconds")),
			Summary:     "A training job has been waiting to run for more than an hour.",
			Description: `A {{ $labels.framework }} job in namespace {{ $labels.job_namespace }} has been waiting to run for {{ $value | humanizeDuration }}. It is neither suspended nor rejected.`,
		},
		{
			Name: "TrainingJobsFailing", Severity: Info,
			// A namespace in which nothing succeeds has no series for what succeeds.
			Expression:  fmt.Sprintf("%[1]s / (%[1]s + (%[2]s or 0 * %[1]s)) > 0.5\nand\n%[1]s >= 5", failed.Record, succeeded.Record),
			Summary:     "Most training jobs of a namespace fail.",
			Description: `{{ $value | humanizePercentage }} of the {{ $labels.framework }} jobs in namespace {{ $labels.job_namespace }} that ended within the last hour have failed, and at least five have.`,
		},
	}
}
