package crdtest

import (
	"context"
	"testing"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	structural "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel/model"
	kjson "k8s.io/apimachinery/pkg/util/json"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	"k8s.io/apiserver/pkg/cel/common"
	"sigs.k8s.io/yaml"
)

// TestStatusBlocked verifies the table of `stoic crd check` (schema/crd/check/rules.go). An object was stored before the rule existed,
// and only its status changes. The test shows what the API server's own code does with a rule that is false, and with one that cannot be
// evaluated. Other constraints outside the status are not checked then; docs/decisions/0002-crd-generator.md has the results on a control
// plane.
func TestStatusBlocked(t *testing.T) {
	for _, test := range []struct {
		name, onField, onSpec, onRoot string
		stored                        string // the spec
		refused                       bool
	}{
		{name: "no rule", stored: `{a: bad}`},
		{name: "whole object, false", onRoot: `self.spec.a != 'bad'`, stored: `{a: bad}`, refused: true},
		{name: "whole object, true", onRoot: `self.spec.a != 'bad'`, stored: `{a: good}`},
		{name: "whole object, cannot be evaluated", onRoot: `self.spec.a != 'bad'`, stored: `{}`, refused: true},
		{name: "spec, false", onSpec: `self.a != 'bad'`, stored: `{a: bad}`},
		{name: "spec, absent", onSpec: `self.a != 'bad'`, stored: `{}`, refused: true},
		{name: "spec, absent, guarded", onSpec: `!has(self.a) || self.a != 'bad'`, stored: `{}`},
		{name: "field, false", onField: `self != 'bad'`, stored: `{a: bad}`},
		{name: "field, another type", onField: `self.startsWith('x')`, stored: `{a: 7}`, refused: true},
		{name: "oldSelf, false where nothing changes", onField: `self.size() > oldSelf.size()`, stored: `{a: bad}`, refused: true},
		{name: "immutable", onField: `self == oldSelf`, stored: `{a: bad}`},
		{name: "immutable, another type", onField: `self == oldSelf`, stored: `{a: 7}`, refused: true},
	} {
		t.Run(test.name, func(t *testing.T) {
			s, err := structural.NewStructural(ruled(test.onRoot, test.onSpec, test.onField))
			if err != nil {
				t.Fatal(err)
			}
			before, after := stored(t, test.stored, "old"), stored(t, test.stored, "new")
			errs, _ := cel.NewValidator(s, true, celconfig.PerCallLimit).Validate(context.Background(), nil, s, after, before, celconfig.RuntimeCELCostBudget,
				cel.WithRatcheting(common.NewCorrelatedObject(after, before, &model.Structural{Structural: s})))
			if (len(errs) > 0) != test.refused {
				t.Errorf("refused: %v, want %v", errs, test.refused)
			}
		})
	}
}

func rules(text string) apiextensions.ValidationRules {
	if text == "" {
		return nil
	}
	return apiextensions.ValidationRules{{Rule: text}}
}

// ruled returns a schema with rules on the whole object, on its spec, and on a field of the spec.
func ruled(onRoot, onSpec, onField string) *apiextensions.JSONSchemaProps {
	nine := int64(9)
	text := func(on string) apiextensions.JSONSchemaProps {
		return apiextensions.JSONSchemaProps{Type: "string", MaxLength: &nine, XValidations: rules(on)}
	}
	object := func(on string, fields map[string]apiextensions.JSONSchemaProps) apiextensions.JSONSchemaProps {
		return apiextensions.JSONSchemaProps{Type: "object", Properties: fields, XValidations: rules(on)}
	}
	type fields = map[string]apiextensions.JSONSchemaProps
	root := object(onRoot, fields{"spec": object(onSpec, fields{"a": text(onField)}), "status": object("", fields{"x": text("")})})
	return &root
}

func stored(t *testing.T, spec, status string) map[string]any {
	t.Helper()
	raw, err := yaml.YAMLToJSON([]byte("{apiVersion: example.com/v1, kind: Foo, metadata: {name: a}, spec: " + spec + ", status: {x: " + status + "}}"))
	if err != nil {
		t.Fatal(err)
	}
	var object map[string]any
	if err := kjson.Unmarshal(raw, &object); err != nil {
		t.Fatal(err)
	}
	return object
}
