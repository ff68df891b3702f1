package check

import (
	"fmt"
	"regexp"
	"strings"

	crdv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"stoic/schema"
)

// rules reports which CEL rules can keep the status of a stored object from being written, and which iterate over what has no
// bound. The table says what an API server 1.33 does when only the status changes, for a rule that is
//
//	where                                     is false                 cannot be evaluated
//	on the whole object                       refused                  refused
//	anywhere else outside of the status,
//	  with oldSelf                            refused                  refused
//	  without                                 forgiven: unchanged      refused
//	in the status                             refused if it changed    refused
//
// The API server checks no other constraint outside of the status then: required, enum, pattern and bounds never block a status.
// tools/crdtest verifies the table on the API server's own code.
func (p *problems) rules(v version) {
	status := v.schemaAt() + ".properties.status"
	visit(v.root, v.schemaAt(), func(node *crdv1.JSONSchemaProps, at string) {
		if at == status || strings.HasPrefix(at, status+".") {
			p.unbounded(node, at)
			return
		}
		for i, rule := range node.XValidations {
			p.rule(rule, fmt.Sprintf("%s.x-kubernetes-validations[%d]", at, i), at == v.schemaAt())
		}
		p.unbounded(node, at)
	})
}

var (
	oldSelf = regexp.MustCompile(`\boldSelf\b`)
	// immutable matches rules with oldSelf that obviously hold where nothing changes.
	immutable = regexp.MustCompile(`^\s*(self\s*==\s*oldSelf|oldSelf\s*==\s*self)\s*$`)
)

// rule reports a rule outside of the status. Whole: it is on the whole object, which changes with the status.
func (p *problems) rule(rule crdv1.ValidationRule, at string, whole bool) {
	text := schema.Quote(rule.Rule)
	switch {
	case oldSelf.MatchString(rule.Rule) && !immutable.MatchString(rule.Rule):
		p.add(StatusBlocked, at, "the rule "+text+" with oldSelf", "hold where nothing changes", "it is evaluated, and not forgiven, whenever the status is written")
	case whole:
		p.add(StatusBlocked, at, "the rule "+text+" on the whole object", "stand on the field that it is about", "while an object violates it, its status cannot be written")
	default:
		p.add(StatusAtRisk, at, "the rule "+text, "be evaluable on every object that may be stored", "otherwise the status of that object cannot be written; OpenAPI has no such effect")
	}
}

// unbounded reports the first value without a bound that a rule uses.
func (p *problems) unbounded(node *crdv1.JSONSchemaProps, at string) {
	for i, rule := range node.XValidations {
		words := wordsOf(rule.Rule)
		path, missing := "", ""
		var look func(n *crdv1.JSONSchemaProps, at string)
		look = func(n *crdv1.JSONSchemaProps, at string) {
			if missing != "" {
				return
			}
			if missing = withoutBound(n); missing != "" {
				path = at
				return
			}
			for name := range sorted(n.Properties) {
				if words[name] {
					child := n.Properties[name]
					look(&child, strings.TrimPrefix(at+"."+name, "."))
				}
			}
			if n.Items != nil && n.Items.Schema != nil {
				look(n.Items.Schema, at+"[]")
			}
			if n.AdditionalProperties != nil && n.AdditionalProperties.Schema != nil {
				look(n.AdditionalProperties.Schema, at+"{}")
			}
		}
		look(node, "")
		if missing == "" {
			continue
		}
		what := "self"
		if path != "" && path[0] != '[' && path[0] != '{' {
			what += "."
		}
		what += path
		p.add(UnboundedInRule, fmt.Sprintf("%s.x-kubernetes-validations[%d]", at, i), "the rule "+schema.Quote(rule.Rule)+" over "+what+" without "+missing, "go through what has a bound", "")
	}
}

// withoutBound returns the bound that a node lacks, or "".
func withoutBound(n *crdv1.JSONSchemaProps) string {
	switch {
	case n.Type == "string" && n.MaxLength == nil && len(n.Enum) == 0 && n.Format == "" && !n.XIntOrString:
		return "maxLength"
	case n.Type == "array" && n.MaxItems == nil:
		return "maxItems"
	case n.Type == "object" && n.AdditionalProperties != nil && n.AdditionalProperties.Schema != nil && n.MaxProperties == nil:
		return "maxProperties"
	}
	return ""
}

var word = regexp.MustCompile(`[A-Za-z_][A-Za-z0-9_]*`)

func wordsOf(rule string) map[string]bool {
	found := map[string]bool{}
	for _, w := range word.FindAllString(rule, -1) {
		found[w] = true
	}
	return found
}
