package monitoring

import (
	"fmt"

	"sigs.k8s.io/yaml"
)

// Runbooks is the address of the runbooks unless the generator gets another one. It is an address that no one can own: the project has no
// public one.
const Runbooks = "https://example.org/stoic/docs/runbooks/"

// group and rule are what Prometheus reads.
type group struct {
	Name  string `json:"name"`
	Rules []rule `json:"rules"`
}

type rule struct {
	Record      string            `json:"record,omitempty"`
	Alert       string            `json:"alert,omitempty"`
	Expr        string            `json:"expr"`
	For         string            `json:"for,omitempty"`
	Labels      map[string]string `json:"labels,omitempty"`
	Annotations map[string]string `json:"annotations,omitempty"`
}

// groups returns the groups of rules. Recordings precede the alerts of their group: Prometheus evaluates a group in order.
func groups(runbooks string) []group {
	recorded := map[string][]Recording{"training-operator.work": operatorRecordings(), "training-jobs": jobRecordings()}
	var all []group
	for _, g := range alertGroups() {
		out := group{Name: g.name}
		for _, r := range recorded[g.name] {
			out.Rules = append(out.Rules, rule{Record: r.Record, Expr: r.Expression})
		}
		for _, a := range g.alerts {
			out.Rules = append(out.Rules, a.rule(runbooks))
		}
		all = append(all, out)
	}
	return all
}

func (a Alert) rule(runbooks string) rule {
	r := rule{Alert: a.Name, Expr: a.Expression, Labels: map[string]string{"severity": string(a.Severity)},
		Annotations: map[string]string{"summary": a.Summary, "description": a.Description, "runbook_url": runbooks + a.Name + ".md"}}
	if a.For > 0 {
		r.For = short(a.For)
	}
	return r
}

// Rules returns a rule file of Prometheus.
func Rules(runbooks string) ([]byte, error) {
	return document(map[string]any{"groups": groups(runbooks)})
}

// PrometheusRule returns the same as an object of the Prometheus operator.
func PrometheusRule(runbooks string) ([]byte, error) {
	return document(map[string]any{
		"apiVersion": "monitoring.coreos.com/v1",
		"kind":       "PrometheusRule",
		"metadata":   map[string]any{"name": "training-operator", "namespace": "kubeflow", "labels": labels()},
		"spec":       map[string]any{"groups": groups(runbooks)},
	})
}

const notice = "# Written by `make generate` from deploy/monitoring; do not edit.\n"

func document(content any) ([]byte, error) {
	text, err := yaml.Marshal(content)
	if err != nil {
		return nil, fmt.Errorf("write YAML: %w", err)
	}
	return append([]byte(notice), text...), nil
}
