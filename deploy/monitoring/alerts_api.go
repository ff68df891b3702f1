package monitoring

import (
	"fmt"
	"time"
)

// api: does the API server give what the operator needs of it?
func api() []Alert {
	return []Alert{
		{
			Name: "TrainingOperatorWatchErrors", Severity: Warning, For: 10 * time.Minute,
			// A watch that fails is tried again within three seconds, or within a minute. An API server that is away for half a minute fails
			// each a dozen times: the range is shorter than For, so that this alone is no alert.
			Expression:  by("sum", "kind", "increase(training_operator_watch_errors_total[5m])") + " > 2",
			Summary:     "The training operator cannot watch a kind.",
			Description: at + ` has failed {{ $value | printf "%.0f" }} times within five minutes to list or watch {{ $labels.kind }}. Until it can, it does not see what changes there.`,
		},
		{
			Name: "TrainingOperatorKindNotServed", Severity: Warning, For: 10 * time.Minute,
			// A kind that has never been served needs no alert: the operator waits for CRDs that may never be installed. What jobs own, such as
			// Roles, is not watched either while no kind of jobs that owns such objects is served, which is as it should be.
			Expression: fmt.Sprintf("%s == 0\nand\n%s == 1",
				by("max", "kind", ofJobs("training_operator_kind_served")), by("max", "kind", "max_over_time("+ofJobs("training_operator_kind_served")+"[1d])")),
			Summary:     "A kind of jobs is not watched any more that the training operator has watched.",
			Description: at + ` has watched {{ $labels.kind }} within the last day, and for ten minutes it has not: the API server does not serve this kind any more, or does not say whether it does. Jobs of this kind are gone or not seen.`,
		},
		{
			Name: "TrainingOperatorForbidden", Severity: Warning, For: 20 * time.Minute,
			// What is refused is tried again every five minutes at least, and one refusal, as in the moment of an installation, is seen
			// for a quarter of an hour: that is too short to matter. A 403 that names no right is one of something in between, or, to a
			// write, of a quota or of admission: that is the affair of who owns the job. Nothing admits reads.
			Expression: fmt.Sprintf("%[1]s > 0\nor\n(\n%[2]s > 0\n  unless on (%[3]s)\n%[4]s > 0\n)",
				missing("verb, resource", ""),
				indent(by("sum", "code, method", ours(`(
  rate(rest_client_requests_total{code="401"}[5m])
  or
  rate(rest_client_requests_total{code="403", method="GET"}[5m])
)`))), operatorLabels, indent(missing("", ""))),
			Summary:     "The training operator lacks a permission.",
			Description: at + ` {{ if $labels.verb }}has no right to {{ $labels.verb }} {{ $labels.resource }}: it was refused {{ $value | printf "%.0f" }} times within a quarter of an hour.{{ else }}gets {{ $labels.code }} in answer to {{ $labels.method }}, {{ $value | printf "%.2g" }} times a second.{{ end }}`,
		},
		{
			Name: "TrainingOperatorAPIErrors", Severity: Warning, For: 15 * time.Minute,
			Expression: fmt.Sprintf("%s\n/\n%s > 0.05",
				by("sum", "", rate(`rest_client_requests_total{code=~"5..|429|<error>"}`, "5m")), by("sum", "", rate("rest_client_requests_total", "5m"))),
			Summary:     "The API server fails or turns away requests of the training operator.",
			Description: at + ` gets no answer, an error (5xx) or "too many requests" (429) for {{ $value | humanizePercentage }} of its requests.`,
		},
		{
			Name: "TrainingOperatorEventsBacklog", Severity: Warning, For: 15 * time.Minute,
			Expression:  by("sum", "", "training_operator_events_backlog") + " > 3000",
			Summary:     "Events about jobs reach their readers late.",
			Description: at + ` has had more than 3000 events waiting to be sent for a quarter of an hour, {{ $value }} now.`,
		},
		{
			Name: "TrainingOperatorEventsLost", Severity: Warning,
			// An event that is refused by a quota, or because its namespace is being deleted, needs no alert.
			Expression: fmt.Sprintf("%s > 0\nor\n(\n%s > 0\n  and on (%s)\n%s > 0\n)",
				by("sum", "result", grown(`training_operator_events_total{result=~"late|dropped"}`, 15*time.Minute)),
				indent(by("sum", "result", grown(`training_operator_events_total{result="refused"}`, 15*time.Minute))), operatorLabels,
				indent(missing("", `{verb="create", resource="events"}`))),
			Summary:     "Events about jobs were not sent.",
			Description: at + ` has given up {{ $value | printf "%.0f" }} events within a quarter of an hour{{ if eq $labels.result "refused" }}, as it has no right to create any{{ else if eq $labels.result "dropped" }}, as too many waited to be sent{{ else }} that it could not send for most of an hour{{ end }}. The conditions of the jobs say the same.`,
		},
	}
}

// ofJobs keeps the series of kinds of jobs, whose names end in Job. One of two versions of a kind has the version in its label:
// MPIJob.v2beta1. A Job of batch is what an MPIJob of that version owns.
func ofJobs(metric string) string { return metric + `{kind=~"` + kindsOfJobs + `"}` }

const kindsOfJobs = `.+Job([.].+)?`

// missing rights that were asked for within a quarter of an hour.
func missing(labels, selector string) string {
	return by("sum", labels, grown("training_operator_missing_rights_total"+selector, 15*time.Minute))
}
