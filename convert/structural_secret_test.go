package convert

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"stoic/schema"
	"stoic/test/untyped"
)

// TestValuesAreNeverShown: no message repeats a value of an annotation, an environment variable or a Secret, whatever its type,
// even a boolean. The schemas require another type in every place.
func TestValuesAreNeverShown(t *testing.T) {
	const texts = `{type: object, additionalProperties: {type: string}}`
	for name, field := range map[string]struct{ schema, object string }{
		"annotations":               {`template: {type: object, properties: {annotations: ` + texts + `}}`, `template: {annotations: {a: VALUE}}`},
		"annotations as one value":  {`template: {type: object, properties: {annotations: ` + texts + `}}`, `template: {annotations: VALUE}`},
		"annotations in a list":     {`template: {type: object, properties: {annotations: ` + texts + `}}`, `template: {annotations: [VALUE]}`},
		"annotation as a list":      {`template: {type: object, properties: {annotations: ` + texts + `}}`, `template: {annotations: {a: [VALUE]}}`},
		"annotation as an object":   {`template: {type: object, properties: {annotations: {type: object, additionalProperties: {type: object, properties: {b: {type: string}}}}}}`, `template: {annotations: {a: {b: VALUE}}}`},
		"annotation by an enum":     {`template: {type: object, properties: {annotations: {type: object, additionalProperties: {x-kubernetes-preserve-unknown-fields: true, enum: [x]}}}}`, `template: {annotations: {a: VALUE}}`},
		"variable":                  {`env: {type: array, items: {type: object, properties: {name: {type: string}, value: {type: string}}}}`, `env: [{name: A, value: VALUE}]`},
		"variables as a map":        {`env: ` + texts, `env: {A: VALUE}`},
		"stringData of a secret":    {`template: {type: object, properties: {stringData: ` + texts + `}}`, `template: {stringData: {a: VALUE}}`},
		"data of a secret":          {`secretTemplate: {type: object, properties: {data: ` + texts + `}}`, `secretTemplate: {data: {a: VALUE}}`},
		"data of a list of secrets": {`secrets: {type: array, items: {type: object, properties: {data: ` + texts + `}}}`, `secrets: [{data: {a: VALUE}}]`},
		"data of an embedded Secret": {`object: {type: object, x-kubernetes-embedded-resource: true, properties: {apiVersion: {type: string}, kind: {type: string}, metadata: {type: object}, data: ` + texts + `}}`,
			`object: {apiVersion: v1, kind: Secret, metadata: {name: a}, data: {a: VALUE}}`},
	} {
		s, _ := schemaIn(t, "type: object\nproperties:\n  spec:\n    type: object\n    properties:\n      "+field.schema)
		for _, value := range []string{"true", "false", "8714502", "87145.02"} {
			u := untyped.Parse(t, []byte("apiVersion: example.com/v1\nkind: Widget\nmetadata: {name: w}\nspec:\n  "+strings.ReplaceAll(field.object, "VALUE", value)))
			text := describeChecked(checkStructural(s, u.Object))
			if text == "" || strings.Contains(text, value) {
				t.Errorf("%s, %s:\n%s", name, value, text)
			}
		}
	}
	s, _ := schemaIn(t, "type: object\nproperties:\n  spec:\n    type: object\n    properties:\n      data: "+texts)
	u := untyped.Parse(t, []byte("apiVersion: example.com/v1\nkind: Widget\nmetadata: {name: w}\nspec: {data: {a: 8714502}}"))
	if text := describeChecked(checkStructural(s, u.Object)); !strings.Contains(text, "8714502") {
		t.Errorf("hides what belongs to no Secret:\n%s", text)
	}
}

// TestValuesOfATypedSecretAreNeverShown: the same for an object whose Go type contains a Secret.
func TestValuesOfATypedSecretAreNeverShown(t *testing.T) {
	type vault struct {
		metav1.TypeMeta   `json:",inline"`
		metav1.ObjectMeta `json:"metadata"`
		Spec              struct {
			Template corev1.PodTemplateSpec `json:"template"`
			Secret   corev1.Secret          `json:"secret"`
		} `json:"spec"`
	}
	check := Typed[vault](schema.Resource{Group: "example.com", Version: "v1", Plural: "vaults", Kind: "Vault"})
	for _, value := range []any{true, false, int64(8714502), 87145.02, []any{int64(8714502)}, map[string]any{"x": int64(8714502)}} {
		values := map[string]any{"a": value}
		result := check(&unstructured.Unstructured{Object: map[string]any{"apiVersion": "example.com/v1", "kind": "Vault",
			"metadata": map[string]any{"name": "v", "annotations": values}, "spec": map[string]any{
				"template": map[string]any{"metadata": map[string]any{"annotations": values}, "spec": map[string]any{
					"containers": []any{map[string]any{"name": "c", "env": []any{map[string]any{"name": "A", "value": value}}}}}},
				"secret": map[string]any{"data": values, "stringData": values}}}})
		var text strings.Builder
		for _, p := range append(result.Rejection.Problems, result.Warnings...) {
			text.WriteString(p.String() + "\n")
		}
		for _, field := range []string{"metadata.annotations.a", "spec.template.metadata.annotations.a", "env[0].value", "spec.secret.data.a", "spec.secret.stringData.a"} {
			if !strings.Contains(text.String(), field) {
				t.Errorf("%v: nothing is said of %s:\n%s", value, field, text.String())
			}
		}
		for _, shown := range []string{"true", "false", "8714502", "87145.02"} {
			if strings.Contains(text.String(), shown) {
				t.Errorf("%v is shown:\n%s", value, text.String())
			}
		}
	}
}
