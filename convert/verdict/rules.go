package verdict

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	"k8s.io/kube-openapi/pkg/validation/strfmt"
)

// Outcome is what becomes of a stored object when a rule is evaluated on it and it has not changed.
type Outcome struct {
	// Refused holds a value that the rule refuses, as JSON, and Failed one on which it cannot be evaluated, with the error; empty if
	// none was found among the values that were drawn.
	Refused, Failed, Error string
}

// draws is how many values are drawn for a rule.
const draws = 60

// violated is the message of a rule that is false, in place of its own.
const violated = "violated"

// Unchanged evaluates a rule of a node on values that the schema of former allows, each as the old and as the new value at once. Former
// is the node itself, or the node in its place in a former definition; root says whether it is the whole object. With rules set, values
// that the other rules of former refuse are not considered: they were never stored. It draws the same values each time, and returns the
// shortest of those that show something.
func Unchanged(former, now *apiextensionsv1.JSONSchemaProps, rule apiextensionsv1.ValidationRule, root, rules bool) (outcome Outcome, err error) {
	defer func() {
		if cause := recover(); cause != nil {
			err = fmt.Errorf("the API server's library fails: %v", cause)
		}
	}()
	was, validator, err := nodeOf(former)
	if err != nil {
		return Outcome{}, err
	}
	is, _, err := nodeOf(now)
	if err != nil {
		return Outcome{}, err
	}
	rule.Message, rule.MessageExpression = violated, ""
	alone := withoutRules(is)
	alone.XValidations = apiextensionsv1.ValidationRules{rule}
	evaluated := cel.NewValidator(alone, root, celconfig.PerCallLimit)
	var others *cel.Validator
	if rules {
		others = cel.NewValidator(was, root, celconfig.PerCallLimit)
	}
	ctx, d := context.Background(), newDrawer(rule.Rule)
	for range draws {
		value := d.value(was, 0)
		if object, ok := value.(map[string]any); ok && root {
			object["apiVersion"], object["kind"], object["metadata"] = "example.com/v1", "Example", map[string]any{"name": "example", "namespace": "default"}
		}
		defaulting.Default(value, was) // as an API server does before it evaluates rules
		if len(validation.ValidateCustomResource(nil, value, validator)) > 0 {
			continue
		}
		if others != nil {
			if refusals, _ := others.Validate(ctx, nil, was, value, nil, celconfig.RuntimeCELCostBudget); len(refusals) > 0 {
				continue
			}
		}
		refusals, _ := evaluated.Validate(ctx, nil, alone, value, value, celconfig.RuntimeCELCostBudget)
		for _, refusal := range refusals {
			if strings.HasPrefix(refusal.Detail, "rule compile error") {
				return Outcome{}, errors.New(refusal.Detail)
			}
			text, _ := json.Marshal(value) // drawn values are JSON
			if refusal.Detail == violated {
				outcome.Refused = shorter(outcome.Refused, string(text))
			} else if shorter(outcome.Failed, string(text)) == string(text) {
				outcome.Failed, outcome.Error = string(text), refusal.Detail
			}
		}
	}
	return outcome, nil
}

// shorter returns the shorter of two texts that is not empty, and the first of two that are equally long.
func shorter(a, b string) string {
	if a == "" || len(b) < len(a) {
		return b
	}
	return a
}

// nodeOf returns a schema in the two forms that the library works with.
func nodeOf(props *apiextensionsv1.JSONSchemaProps) (*structuralschema.Structural, validation.SchemaValidator, error) {
	var internal apiextensions.JSONSchemaProps
	if err := apiextensionsv1.Convert_v1_JSONSchemaProps_To_apiextensions_JSONSchemaProps(props, &internal, nil); err != nil {
		return nil, nil, err
	}
	structural, err := structuralschema.NewStructural(&internal)
	if err != nil {
		return nil, nil, err
	}
	validator, _, err := validation.NewSchemaValidator(&internal)
	if err != nil {
		return nil, nil, err
	}
	return structural, validator, nil
}

// withoutRules returns a copy of a schema that has no rules.
func withoutRules(s *structuralschema.Structural) *structuralschema.Structural {
	s = s.DeepCopy()
	visitor := structuralschema.Visitor{Structural: func(node *structuralschema.Structural) bool {
		changed := len(node.XValidations) > 0
		node.XValidations = nil
		return changed
	}}
	visitor.Visit(s)
	return s
}

func sortedNames(properties map[string]structuralschema.Structural) []string {
	return slices.Sorted(maps.Keys(properties))
}

// fitsFormat reports whether a text has a format that API servers check.
func fitsFormat(format, text string) bool {
	return format == "" || !strfmt.Default.ContainsName(format) || strfmt.Default.Validates(format, text)
}
