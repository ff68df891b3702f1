package convert

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"
)

type agreed struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`
	Spec              agreedSpec `json:"spec" stoic:"required"`
}

type agreedSpec struct {
	Name     string                 `json:"name" stoic:"required,name=dnsLabel"`
	Mode     string                 `json:"mode,omitempty" stoic:"enum=A;B"`
	Text     string                 `json:"text,omitempty" stoic:"minLength=1,maxLength=9,pattern=^a+$"`
	Size     int32                  `json:"size,omitempty" stoic:"min=1,max=9"`
	Plain    int64                  `json:"plain,omitempty"`
	Byte     int32                  `json:"byte,omitempty" stoic:"max=255"`
	Wide     int32                  `json:"wide,omitempty"`
	Count    uint32                 `json:"count,omitempty"`
	Empty    []string               `json:"empty,omitempty" stoic:"maxItems=0"`
	Level    int                    `json:"level,omitempty" stoic:"enum=1;3"`
	Ratio    float64                `json:"ratio,omitempty" stoic:"min=0.5"`
	Flag     bool                   `json:"flag,omitempty"`
	List     []agreedItem           `json:"list,omitempty" stoic:"maxItems=3"`
	Words    []string               `json:"words,omitempty" stoic:"maxItems=2,maxLength=5"`
	Map      map[string]agreedItem  `json:"map,omitempty" stoic:"maxItems=4"`
	Template corev1.PodTemplateSpec `json:"template,omitempty"`
}

type agreedItem struct {
	Key string `json:"key" stoic:"required"`
}

const agreedSchema = `{type: object, required: [spec], properties: {metadata: {type: object}, status: {type: object}, spec: {type: object, required: [name], properties: {
 name: {type: string, maxLength: 63, pattern: x}, mode: {type: string, enum: [B, A]}, text: {type: string, minLength: 1, maxLength: 9, pattern: ^a+$},
 size: {type: integer, format: int32, minimum: 1, maximum: 9}, plain: {type: integer},
 byte: {type: integer, format: int32, maximum: 255}, wide: {type: integer, format: int32, maximum: 2147483647}, count: {type: integer, minimum: 0},
 empty: {type: array, maxItems: 0, items: {type: string}}, level: {type: integer, enum: [1, 3]}, ratio: {type: number, minimum: 0.5}, flag: {type: boolean},
 list: {type: array, maxItems: 3, items: {type: object, required: [key], properties: {key: {type: string}}}}, words: {type: array, maxItems: 2, items: {type: string, maxLength: 5}},
 map: {type: object, maxProperties: 4, additionalProperties: {type: object, required: [key], properties: {key: {type: string}}}}, template: {type: object, properties: {odd: {type: string}}}}}}}`

func agreedCRD(t *testing.T, text string) *apiextensionsv1.CustomResourceDefinition {
	t.Helper()
	root := new(apiextensionsv1.JSONSchemaProps)
	if err := yaml.Unmarshal([]byte(text), root); err != nil {
		t.Fatal(err)
	}
	return &apiextensionsv1.CustomResourceDefinition{Spec: apiextensionsv1.CustomResourceDefinitionSpec{
		Versions: []apiextensionsv1.CustomResourceDefinitionVersion{{Name: "v1", Schema: &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: root}}}}}
}

// TestDisagreements: each edit of a schema that agrees is reported, and nothing else is.
func TestDisagreements(t *testing.T) {
	for _, test := range []struct{ from, to, want string }{
		{"", "", ""},
		{"required: [spec], ", "", "spec: the field is optional in the CRD, and required in the type"},
		{"required: [name], ", "", "spec.name: the field is optional in the CRD, and required in the type"},
		{"required: [name]", "required: [name, flag]", "spec.flag: the field is required in the CRD, and optional in the type"},
		{"maxLength: 63, pattern: x", "maxLength: 63", "spec.name: pattern is not set in the CRD, and that of a name in the type"},
		{"enum: [B, A]", "enum: [A, C]", "spec.mode: enum is A;C in the CRD, and A;B in the type"},
		{", enum: [B, A]", "", "spec.mode: enum is not set in the CRD, and A;B in the type"},
		{"minLength: 1", "minLength: 2", "spec.text: minLength is 2 in the CRD, and 1 in the type"},
		{"maxLength: 9", "maxLength: 8", "spec.text: maxLength is 8 in the CRD, and 9 in the type"},
		{"pattern: ^a+$", "pattern: ^b+$", "spec.text: pattern is `^b+$` in the CRD, and `^a+$` in the type"},
		{"minimum: 1, ", "", "spec.size: minimum is not set in the CRD, and 1 in the type"},
		{"maximum: 9", "maximum: 10", "spec.size: maximum is 10 in the CRD, and 9 in the type"},
		{"plain: {type: integer}", "plain: {type: integer, minimum: 3}", "spec.plain: minimum is 3 in the CRD, and not set in the type"},
		{"maximum: 255", "maximum: 256", "spec.byte: maximum is 256 in the CRD, and 255 in the type"},
		{", maximum: 255", "", "spec.byte: maximum is not set in the CRD, and 255 in the type"},
		{", maximum: 2147483647", ", maximum: 65535", "spec.wide: maximum is 65535 in the CRD, and not set in the type"},
		{", minimum: 0}", "}", "spec.count: minimum is not set in the CRD, and 0 in the type"},
		{", maxItems: 0", "", "spec.empty: maxItems is not set in the CRD, and 0 in the type"},
		{"plain: {type: integer}", "plain: {type: string}", "spec.plain: the type is string in the CRD, and integer in the type"},
		{"enum: [1, 3]", "enum: [1]", "spec.level: enum is 1 in the CRD, and 1;3 in the type"},
		{"minimum: 0.5", "minimum: 0.25", "spec.ratio: minimum is 0.25 in the CRD, and 0.5 in the type"},
		{"flag: {type: boolean}", "flog: {type: boolean}", "spec.flag: the field is absent in the CRD, and there in the type\nspec.flog: the field is there in the CRD, and absent in the type"},
		{"maxItems: 3, ", "", "spec.list: maxItems is not set in the CRD, and 3 in the type"},
		{"items: {type: object, required: [key], ", "items: {type: object, ", "spec.list[].key: the field is optional in the CRD, and required in the type"},
		{"maxLength: 5", "maxLength: 6", "spec.words[]: maxLength is 6 in the CRD, and 5 in the type"},
		{"maxProperties: 4", "maxProperties: 5", "spec.map: maxProperties is 5 in the CRD, and 4 in the type"},
		{"additionalProperties: {type: object, required: [key], ", "additionalProperties: {type: object, ", "spec.map{}.key: the field is optional in the CRD, and required in the type"},
	} {
		if !strings.Contains(agreedSchema, test.from) {
			t.Fatalf("no %q in the schema", test.from)
		}
		got := Disagreements[agreed](agreedCRD(t, strings.Replace(agreedSchema, test.from, test.to, 1)), "v1")
		if diff := cmp.Diff(test.want, strings.Join(got, "\n")); diff != "" {
			t.Errorf("%s -> %s (-want +got):\n%s", test.from, test.to, diff)
		}
	}
	if got := Disagreements[agreed](agreedCRD(t, agreedSchema), "v2"); len(got) != 1 || got[0] != `the CRD has no schema of version "v2"` {
		t.Errorf("%q", got)
	}
	if got := Disagreements[agreed](agreedCRD(t, agreedSchema), "v1", Choice[agreedItem]("key", "x")); len(got) != 2 {
		t.Errorf("a rule of the type: %q", got)
	}
}
