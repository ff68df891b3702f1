package monitoring

import (
	"fmt"
	"time"
)

// presence: is there one process that works, and not more?
func presence() []Alert {
	leader := ours("leader_election_master_status")
	return []Alert{
		{
			Name: "TrainingOperatorDown", Severity: Critical, For: 15 * time.Minute,
			// An operator of several that is gone is missed for six hours. That there is none at all is an alert until there is one.
			Expression: fmt.Sprintf(`(
  group by (%[1]s) (last_over_time(%[2]s[6h]))
  unless on (%[1]s)
  group by (%[1]s) (%[2]s)
)
or
(
  absent(%[2]s)
  unless on ()
  group by (%[1]s) (last_over_time(%[2]s[6h]))
)`, operatorLabels, build),
			Summary:     "No process of the training operator is scraped.",
			Description: `{{ with $labels.job }}The operator {{ . }}{{ with $labels.namespace }} in namespace {{ . }}{{ end }} was scraped within the last six hours and is not any more.{{ else }}No training operator is scraped.{{ end }} New jobs are not started and finished ones are not noticed; pods that run go on.`,
		},
		{
			Name: "TrainingOperatorNoLeader", Severity: Critical, For: 5 * time.Minute,
			// The gauge is 1 from when a process begins to work. The one that holds the lease first waits until pods and the like are read.
			Expression:  by("max", "", leader) + " == 0",
			Summary:     "The training operator runs, and no process of it works.",
			Description: at + ` has processes that are scraped, and none works: none holds the lease, or its holder has not read yet what it has to read first. New jobs are not started and finished ones are not noticed; pods that run go on.`,
		},
		{
			Name: "TrainingOperatorManyLeaders", Severity: Critical, For: 10 * time.Minute,
			Expression:  by("sum", "name", leader) + " > 1",
			Summary:     "Several processes of one training operator work at the same time.",
			Description: at + ` has {{ $value }} processes that work at the same time under the name {{ $labels.name }}. One must, or pods may be restarted twice.`,
		},
		{
			Name: "TrainingOperatorsOverlap", Severity: Warning, For: 15 * time.Minute,
			Expression: fmt.Sprintf(`count by (job_namespace, framework) (
  group by (%s, job_namespace, framework) (training_operator_jobs{job_namespace!="(others)"})
) > 1`, operatorLabels),
			Summary:     "Several training operators serve the same jobs.",
			Description: `{{ $value }} operators report the {{ $labels.framework }} jobs of namespace {{ $labels.job_namespace }}. Each acts on them as if it were the only one.`,
		},
		{
			Name: "TrainingOperatorRestarts", Severity: Warning,
			Expression: fmt.Sprintf(`max by (%[1]s) (
  changes(process_start_time_seconds[1h]) and on (%[2]s) last_over_time(%[3]s[1h])
) >= 3`, operatorLabels, processLabels, build),
			Summary:     "A process of the training operator starts again and again.",
			Description: at + ` has a container that was started {{ $value }} times within the last hour.`,
		},
		{
			Name: "TrainingOperatorMemory", Severity: Warning, For: 15 * time.Minute,
			// The operator sets GOMEMLIMIT to nine tenths of the container's limit. Without a limit it is the largest number there is.
			Expression: fmt.Sprintf(`max by (%[1]s) (
  %[2]s
) > 1`, processLabels, ours("process_resident_memory_bytes / go_gc_gomemlimit_bytes")),
			Summary:     "The training operator needs more memory than its limit leaves it.",
			Description: `The process {{ $labels.instance }} of the operator {{ $labels.job }}{{ with $labels.namespace }} in namespace {{ . }}{{ end }} uses {{ $value | humanizePercentage }} of what its garbage collector is told to keep to, which is nine tenths of the container's limit. The kernel ends it at the limit.`,
		},
	}
}
