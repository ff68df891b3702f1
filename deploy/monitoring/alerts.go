package monitoring

import "time"

// Severity says who is to look, and when.
type Severity string

const (
	Critical Severity = "critical" // now: jobs do not run, or are run twice
	Warning  Severity = "warning"  // today: something is wrong with the operator or with what it stands on
	Info     Severity = "info"     // whoever owns the namespace in the label job_namespace
)

// Alert is one rule of Prometheus.
type Alert struct {
	Name     string
	Severity Severity
	// For is how long the expression must have had a result; 0: the first one is enough.
	For        time.Duration
	Expression string
	// Summary is one sentence, the same for all. Description has the values of the labels; both are templates of Prometheus.
	Summary, Description string
}

// Alerts are all of them, by group.
func Alerts() []Alert {
	var all []Alert
	for _, g := range alertGroups() {
		all = append(all, g.alerts...)
	}
	return all
}

type alertGroup struct {
	name   string
	alerts []Alert
}

func alertGroups() []alertGroup {
	return []alertGroup{
		{"training-operator.presence", presence()},
		{"training-operator.work", work()},
		{"training-operator.api", api()},
		{"training-operator.conversion", conversion()},
		{"training-jobs", jobs()},
	}
}

// at names the operator in a description. An expression that is about no operator in particular has no such labels.
const at = `The operator {{ $labels.job }}{{ with $labels.namespace }} in namespace {{ . }}{{ end }}`
