package monitoring

import (
	"fmt"
	"time"
)

// jobsDashboard: what becomes of the jobs, in which namespaces?
func jobsDashboard() Dashboard {
	return Dashboard{Name: "jobs", Title: "Training jobs",
		Description: "What becomes of training jobs, by namespace and framework. Needs the recording rules of deploy/monitoring.",
		Variables: append(operatorVariables(), Variable{"job_namespace", "Namespace", "training_operator_jobs"},
			Variable{"framework", "Framework", "training_operator_jobs"}),
		Rows: []Row{{"Now", nowPanels()}, {"What happens", eventsOfJobs()}, {"How long it takes", durationPanels()}},
	}
}

const (
	selectedFrameworks = selected + `, framework=~"$framework"`
	selectedJobs       = selectedFrameworks + `, job_namespace=~"$job_namespace"`
)

// inState counts the jobs that are in one of some states, now.
func inState(states string) Query {
	return Query{fmt.Sprintf(`sum (training_operator_jobs{%s, state=~"%s"}) or on () vector(0)`, selectedJobs, states), "jobs"}
}

// happened within a quarter of an hour, the first event of a namespace included.
func happened(aggregation, as string) string {
	return fmt.Sprintf("%s (%s{%s})", aggregation, ended(as, step).Record, selectedJobs)
}

func nowPanels() []Panel {
	number := func(title, states, description string) Panel {
		return Panel{Title: title, Number: true, Unit: Count, Description: description, Queries: []Query{inState(states)}}
	}
	success, failure := ended("successful", time.Hour).Record, ended("failed", time.Hour).Record
	return []Panel{
		number("Running", "Running", "Jobs of which a pod that counts runs."),
		number("Pending", "Created|Unknown", "Jobs that are accepted or new, and do not run yet."),
		number("Restarting", "Restarting", "Jobs of which a replica is started again."),
		number("Suspended", "Suspended", "Jobs that are suspended, by their author or by a queue such as Kueue."),
		number("Failed", "Failed", "Jobs that have failed or were rejected, and are still there."),
		{Title: "Success within an hour", Number: true, Unit: Share, Description: "Share of the jobs that succeeded among those that ended within an hour. Nothing is shown if none has ended.",
			Queries: []Query{{fmt.Sprintf("(sum (%[1]s{%[3]s}) or on () vector(0))\n/\n((sum (%[1]s{%[3]s}) or on () vector(0)) + (sum (%[2]s{%[3]s}) or on () vector(0)) > 0)", success, failure, selectedJobs), "succeeded"}}},
		{Title: "Jobs by state", Unit: Count, Stacked: true, Description: "Jobs that there are. A job stays until it is deleted, by hand or by ttlSecondsAfterFinished.",
			Queries: []Query{{fmt.Sprintf("sum by (state) (training_operator_jobs{%s})", selectedJobs), "{{state}}"}}},
		{Title: "Running jobs by namespace", Unit: Count, Stacked: true, Description: "The ten namespaces with the most running jobs.",
			Queries: []Query{{fmt.Sprintf(`topk(10, sum by (job_namespace) (training_operator_jobs{%s, state="Running"}))`, selectedJobs), "{{job_namespace}}"}}},
		{Title: "Longest wait", Unit: Seconds, Description: "How long the job that has been waiting to run for longest has been waiting, by namespace and framework; 0 where none waits. More than an hour is an alert. Suspended and rejected jobs do not wait.",
			Queries: []Query{{fmt.Sprintf("time() - min by (job_namespace, framework) (training_operator_oldest_pending_job_timestamp_seconds{%[1]s})\nor\n0 * sum by (job_namespace, framework) (training_operator_jobs{%[1]s})", selectedJobs), "{{job_namespace}} {{framework}}"}}},
	}
}

func eventsOfJobs() []Panel {
	var outcomes []Query
	for _, as := range []string{"created", "successful", "failed", "restarted", "deleted"} {
		outcomes = append(outcomes, Query{happened("sum", as) + " or on () vector(0)", as})
	}
	outcomes = append(outcomes, Query{fmt.Sprintf("sum (%s{%s}) or on () vector(0)", rejections().Record, selectedJobs), "rejected"})
	return []Panel{
		{Title: "Jobs within a quarter of an hour", Unit: Count, Description: "Jobs that were accepted, succeeded, failed, were restarted, were deleted when their time to live was over, or were rejected.",
			Queries: outcomes},
		{Title: "Failed by namespace", Unit: Count, Description: "Jobs that failed within a quarter of an hour, in the ten namespaces with the most of them.",
			Queries: []Query{{orNone("job_namespace", "topk(10, "+happened("sum by (job_namespace)", "failed")+")"), "{{job_namespace}}"}}},
		{Title: "Rejected by reason", Unit: Count, Description: "Specs that were rejected within a quarter of an hour, by the code of their first problem. stoic explain CODE says more.",
			Queries: []Query{{orNone("reason", fmt.Sprintf("sum by (reason) (%s{%s})", rejections().Record, selectedJobs)), "{{reason}}"}}},
		{Title: "Rejected by namespace", Unit: Count, Description: "Specs that were rejected within a quarter of an hour, in the ten namespaces with the most of them.",
			Queries: []Query{{orNone("job_namespace", fmt.Sprintf("topk(10, sum by (job_namespace) (%s{%s}))", rejections().Record, selectedJobs)), "{{job_namespace}}"}}},
		{Title: "Restarted by namespace", Unit: Count, Description: "Restarts of replicas within a quarter of an hour, in the ten namespaces with the most of them.",
			Queries: []Query{{orNone("job_namespace", "topk(10, "+happened("sum by (job_namespace)", "restarted")+")"), "{{job_namespace}}"}}},
		{Title: "Problems of pods", Unit: Count, Description: "Events within a quarter of an hour about pods that cannot run and objects that could not be created, by reason: no node, no image, no quota.",
			Queries: []Query{{orNone("reason", fmt.Sprintf("sum by (reason) (operator_framework_reason:training_operator_job_problems:increase15m{%s})", selectedFrameworks)), "{{reason}}"}}},
	}
}

func durationPanels() []Panel {
	over := func(recording, labels string) string {
		return fmt.Sprintf("max by (%s) (%s{%s})", labels, recording, selectedFrameworks)
	}
	const latency, duration = "operator_framework:training_operator_job_start_latency_seconds:", "operator_framework_result:training_operator_job_duration_seconds:"
	return []Panel{
		{Title: "Wait until it runs, half of the jobs", Unit: Seconds, Description: "Half of the jobs that began to run within an hour waited no longer, since they were made or resumed.",
			Queries: []Query{{over(latency+"p50_1h", "framework"), "{{framework}}"}}},
		{Title: "Wait until it runs, 95 of 100 jobs", Unit: Seconds, Description: "95 of 100 jobs that began to run within an hour waited no longer, since they were made or resumed.",
			Queries: []Query{{over(latency+"p95_1h", "framework"), "{{framework}}"}}},
		{Title: "Duration of jobs", Unit: Seconds, Description: "Half of the jobs that ended within an hour took no longer, by result.",
			Queries: []Query{{over(duration+"p50_1h", "framework, result"), "{{framework}} {{result}}"}}},
	}
}
