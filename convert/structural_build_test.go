package convert

import (
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"
)

// TestStructuralRefusesSchemas: a schema that no API server stores is an error that says where, and never a panic.
func TestStructuralRefusesSchemas(t *testing.T) {
	for schema, says := range map[string]string{
		`{}`:                                  ".type: Required value",
		`{type: object, properties: {a: {}}}`: ".properties[a].type: Required value",
		`{type: object, properties: {a: {type: int}}}`:                                                              `.properties[a].type: found "int", must be one of object,`,
		`{type: object, properties: {a: {type: array}}}`:                                                            ".properties[a].items: Required value",
		`{type: object, properties: {a: {type: string, pattern: "(?=x)"}}}`:                                         ".properties[a].pattern: must be a regular expression of RE2: ",
		`{type: object, properties: {a: {type: string, anyOf: [{pattern: "a("}]}}}`:                                 ".properties[a].anyOf[0].pattern: must be",
		`{type: object, properties: {a: {$ref: "#/definitions/x"}}}`:                                                ".properties[a].$ref: a CustomResourceDefinition cannot have it",
		`{type: object, definitions: {a: {type: string}}}`:                                                          ".definitions: a CustomResourceDefinition cannot",
		`{type: object, patternProperties: {a: {type: string}}}`:                                                    ".patternProperties: a",
		`{type: object, dependencies: {a: [b]}}`:                                                                    ".dependencies: a",
		`{type: object, additionalItems: true}`:                                                                     ".additionalItems: a",
		`{type: object, id: x}`:                                                                                     ".id: a",
		`{type: object, $schema: x}`:                                                                                ".$schema: a",
		`{type: object, properties: {a: {type: array, items: [{type: string}]}}}`:                                   ".properties[a].items: found a list, must be one schema",
		`{type: object, properties: {a: {x-kubernetes-preserve-unknown-fields: false}}}`:                            "x-kubernetes-preserve-unknown-fields: must be true or left out",
		`{type: object, properties: {a: {type: object, additionalProperties: false}}}`:                              ".properties[a].additionalProperties: must not be false",
		`{type: object, additionalProperties: true}`:                                                                ".additionalProperties: Forbidden",
		`{type: object, anyOf: [{properties: {a: {minimum: 1}}}]}`:                                                  ".properties[a]: Required value",
		`{type: object, properties: {a: {type: string, not: {type: string}}}}`:                                      ".properties[a].not.type: Forbidden",
		`{type: object, properties: {a: {type: string, x-kubernetes-embedded-resource: true}}}`:                     "x-kubernetes-",
		`{type: object, properties: {metadata: {type: object, properties: {labels: {type: object}}}}}`:              ".properties[metadata]: Forbidden",
		`{type: object, properties: {a: {x-kubernetes-int-or-string: true, x-kubernetes-embedded-resource: true}}}`: "x-kubernetes-embedded-resource",
	} {
		root := &props{}
		if err := yaml.Unmarshal([]byte(schema), root); err != nil {
			t.Fatalf("%s: %v", schema, err)
		}
		_, err := Structural(resourceOf(root))
		if err == nil || !strings.HasPrefix(err.Error(), "spec.versions[0].schema.openAPIV3Schema") || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: says %v, want %q", schema, err, says)
		}
	}
}

// TestStructuralRefusesDefinitions: other reasons to refuse a definition.
func TestStructuralRefusesDefinitions(t *testing.T) {
	for says, change := range map[string]func(*apiextensionsv1.CustomResourceDefinition){
		"spec.group: must be set":                                     func(c *apiextensionsv1.CustomResourceDefinition) { c.Spec.Group = "" },
		"spec.names.kind: must be set":                                func(c *apiextensionsv1.CustomResourceDefinition) { c.Spec.Names.Kind = "" },
		"spec.preserveUnknownFields: must be false":                   func(c *apiextensionsv1.CustomResourceDefinition) { c.Spec.PreserveUnknownFields = true },
		"spec.versions: must have one that is served":                 func(c *apiextensionsv1.CustomResourceDefinition) { c.Spec.Versions[0].Served = false },
		"spec.versions[0].name: must be set":                          func(c *apiextensionsv1.CustomResourceDefinition) { c.Spec.Versions[0].Name = "" },
		"spec.versions[0].schema.openAPIV3Schema: must be set":        func(c *apiextensionsv1.CustomResourceDefinition) { c.Spec.Versions[0].Schema = nil },
		"spec.versions[0].schema.openAPIV3Schema: must be set, again": func(c *apiextensionsv1.CustomResourceDefinition) { c.Spec.Versions[0].Schema.OpenAPIV3Schema = nil },
	} {
		crd := resourceOf(&props{Type: "object"})
		change(crd)
		if _, err := Structural(crd); err == nil || !strings.HasPrefix(err.Error(), strings.TrimSuffix(says, ", again")) {
			t.Errorf("says %v, want %q", err, says)
		}
	}
	if _, err := Structural(nil); err == nil {
		t.Error("no definition is no error")
	}
}
