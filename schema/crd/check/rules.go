package check

import (
	"fmt"
	"regexp"
	"strings"

	crdv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"stoic/schema"
)

// Outcome is what becomes of a stored object when a rule is evaluated on it and it has not changed.
type Outcome struct {
	// Refused holds a value that the rule refuses, as JSON, and Failed one on which it cannot be evaluated, with the error; empty if
	// none was found.
	Refused, Failed, Error string
}

// Evaluate evaluates a rule of a node on values that the schema of former allows, each as the old and as the new value at once. Former
// is the node itself, or the node in its place in a former definition; root says whether it is the whole object. With rules set, values
// that the other rules of former refuse are not considered. Package verdict has one.
type Evaluate func(former, now *crdv1.JSONSchemaProps, rule crdv1.ValidationRule, root, rules bool) (Outcome, error)

// rules reports which CEL rules keep the status of a stored object from being written. The table says what an API server 1.33 does when
// only the status changes, for a rule that is
//
//	where                                     is false                 cannot be evaluated
//	on the whole object                       refused                  refused
//	anywhere else outside of the status,
//	  with oldSelf                            refused                  refused
//	  without                                 forgiven: unchanged      refused
//	in the status                             refused if it changed    refused
//
// The API server checks no other constraint outside of the status then: required, enum, pattern and bounds never block a status.
// tools/crdtest verifies the table on the API server's own code. A rule is reported if there is a value that shows it.
func (p *problems) rules(v version, evaluate Evaluate) {
	status := v.schemaAt() + ".properties.status"
	visit(v.root, v.schemaAt(), func(node *crdv1.JSONSchemaProps, at string) {
		if at == status || strings.HasPrefix(at, status+".") {
			return
		}
		for i, rule := range node.XValidations {
			whole := at == v.schemaAt()
			transition := oldSelf.MatchString(rule.Rule)
			outcome, err := evaluate(node, node, rule, whole, transition)
			if err != nil {
				continue // Refusals reports a schema or a rule that cannot be read
			}
			p.rule(rule, fmt.Sprintf("%s.x-kubernetes-validations[%d]", at, i), whole, transition, outcome)
		}
	})
}

var oldSelf = regexp.MustCompile(`\boldSelf\b`)

// rule reports a rule outside of the status. Whole: it is on the whole object, which changes with the status.
func (p *problems) rule(rule crdv1.ValidationRule, at string, whole, transition bool, outcome Outcome) {
	text := schema.Quote(rule.Rule)
	refused := "which refuses " + schema.Clean(outcome.Refused, 120)
	switch {
	case outcome.Refused != "" && transition:
		p.add(StatusBlocked, at, "the rule "+text+", "+refused+" where nothing changes", "hold where nothing changes", "it is evaluated, and not forgiven, whenever the status is written")
	case outcome.Refused != "" && whole:
		p.add(StatusBlocked, at, "the rule "+text+" on the whole object, "+refused, "stand on the field that it is about", "while an object violates it, its status cannot be written")
	case outcome.Failed != "":
		p.add(StatusAtRisk, at, "the rule "+text+", which fails on "+schema.Clean(outcome.Failed, 120)+": "+schema.Clean(outcome.reason(), 120),
			"be evaluable on every object that the schema allows", "otherwise neither the object nor its status can be written; guard optional fields by has()")
	}
}

// reason is the error without the rule, which the API server repeats.
func (o Outcome) reason() string {
	reason, _, _ := strings.Cut(o.Error, " evaluating rule: ")
	return reason
}
