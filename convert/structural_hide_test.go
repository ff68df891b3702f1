package convert

import (
	"strings"
	"testing"

	"stoic/test/untyped"
)

// TestStructuralHides: no message repeats a possible credential, whatever its problem is.
func TestStructuralHides(t *testing.T) {
	for name, field := range map[string]struct{ schema, object string }{
		"variable of the wrong type": {`env: {type: array, items: {type: object, properties: {value: {type: string}}}}`, `env: [{name: A, value: 8714502}]`},
		"variable by a pattern":      {`env: {type: object, additionalProperties: {type: string, pattern: "^a"}}`, `env: {A: "8714502"}`},
		"variable in an object":      {`env: {type: object, additionalProperties: {type: object, properties: {x: {type: boolean}}}}`, `env: {A: {x: "8714502"}}`},
		"number in quotes":           {`env: {type: object, additionalProperties: {type: integer}}`, `env: {A: "8714502"}`},
		"variable by an enum":        {`env: {type: object, additionalProperties: {type: string, enum: ["8714503"]}}`, `env: {A: "8714502"}`},
		"variable in clauses":        {`env: {type: object, additionalProperties: {type: string, oneOf: [{pattern: "^a"}, {maxLength: 2}]}}`, `env: {A: "8714502"}`},
		"variable of a set":          {`env: {type: array, x-kubernetes-list-type: set, items: {type: string}}`, `env: ["8714502", "8714502"]`},
		"variable as a key":          {`env: {type: array, x-kubernetes-list-type: map, x-kubernetes-list-map-keys: [k], items: {type: object, required: [k], properties: {k: {type: integer}}}}`, `env: [{k: 8714502}, {k: 8714502}]`},
		"number out of range":        {`env: {type: object, additionalProperties: {type: integer, maximum: 5}}`, `env: {A: 8714502}`},
		"number with a fraction":     {`env: {type: object, additionalProperties: {type: integer}}`, `env: {A: 8714502.5}`},
		"annotation":                 {`meta: {type: object, properties: {annotations: {type: object, additionalProperties: {type: string}}}}`, `meta: {annotations: {a: 8714502}}`},
		"header":                     {`httpHeaders: {type: array, items: {type: object, properties: {value: {type: string}}}}`, `httpHeaders: [{value: 8714502}]`},
		"options of a driver":        {`flexVolume: {type: object, properties: {options: {type: object, additionalProperties: {type: string}}}}`, `flexVolume: {options: {a: 8714502}}`},
		"argument after a flag":      {`args: {type: array, items: {type: string, pattern: "^-"}}`, `args: [--token, "8714502"]`},
		"argument with its flag":     {`args: {type: array, items: {type: string, pattern: "^a"}}`, `args: [--token=8714502]`},
		"value beside a name":        {`list: {type: array, items: {type: object, properties: {name: {type: string}, value: {type: string}}}}`, `list: [{name: apiToken, value: 8714502}]`},
		"named as a password":        {`dbPassword: {type: integer, maximum: 5}`, `dbPassword: 8714502`},
		"named as a token":           {`token: {type: boolean}`, `token: "8714502"`},
		"of the format of passwords": {`pin: {type: string, format: password, pattern: "^a"}`, `pin: "8714502"`},
		"number as a password":       {`pin: {type: string, format: password}`, `pin: 8714502`},
		"key of a list":              {`list: {type: array, x-kubernetes-list-type: map, x-kubernetes-list-map-keys: [token], items: {type: object, required: [token], properties: {token: {type: integer}}}}`, `list: [{token: 8714502}, {token: 8714502}]`},
	} {
		s, _ := schemaIn(t, "type: object\nproperties:\n  spec:\n    type: object\n    properties:\n      "+field.schema)
		u := untyped.Parse(t, []byte("apiVersion: example.com/v1\nkind: Widget\nmetadata: {name: w}\nspec:\n  "+field.object))
		text := describeChecked(checkStructural(s, u.Object))
		if text == "" || strings.Contains(text, "8714502") || !strings.Contains(text, "(not shown)") || strings.Contains(text, "did you mean") {
			t.Errorf("%s:\n%s", name, text)
		}
	}
	s, _ := schemaIn(t, `{type: object, properties: {options: {type: string, pattern: "^a"}, keys: {type: string, enum: [Keyed]}}}`)
	text := describeChecked(checkStructural(s, widget(map[string]any{"options": "8714502", "keys": "Keyd"})))
	if !strings.Contains(text, "8714502") || !strings.Contains(text, `"Keyd"`) {
		t.Errorf("hides what is no credential:\n%s", text)
	}
}
