package convert

import (
	"fmt"
	"math"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/yaml"

	"stoic/schema"
	"stoic/test/untyped"
)

type props = apiextensionsv1.JSONSchemaProps

// TestStructuralLikeAPIServer replaces each node of the objects in testdata by values of every type. The API server's code and ours
// agree whether the object is accepted, and whether fields are dropped. There is one result for values that are no JSON, too.
func TestStructuralLikeAPIServer(t *testing.T) {
	values := []any{untyped.Missing{}, nil, "", "x", "bb", "1.2.3.4", int64(0), int64(-3), int64(5), int64(1) << 40, 2.0, 2.5, true, []any{}, []any{"x", "x"}, []any{nil},
		map[string]any{}, map[string]any{"name": "x"}}
	aliens := []any{math.NaN(), uint64(math.MaxUint64), float32(1.5), struct{}{}, []string{"a"}, map[string]string{"a": "b"}, make(chan int), strings.Repeat("\xff", 500)}
	accepted, refused := 0, 0
	for _, example := range structuralExamples(t) {
		s, o := schemaIn(t, example.schema)
		for _, value := range values {
			everyNode(example.object, value, func(raw map[string]any) {
				if differs := agree(s, o, raw); differs != "" {
					t.Errorf("%s: %s\nobject %s", example.name, differs, schema.JSON(raw))
				}
				if len(promised(t, s, raw).Problems) == 0 {
					accepted++
				} else {
					refused++
				}
			})
		}
		for _, value := range aliens {
			everyNode(example.object, value, func(raw map[string]any) { promised(t, s, raw) })
		}
	}
	if t.Logf("%d accepted, %d refused", accepted, refused); accepted < 300 || refused < 300 {
		t.Error("the objects are one-sided")
	}
}

// everyNode calls test with copies of an object in which one node outside of its metadata is replaced.
func everyNode(object map[string]any, value any, test func(raw map[string]any)) {
	for at := 1; ; at++ {
		raw, _ := untyped.Clone(object).(map[string]any)
		delete(raw, "apiVersion")
		delete(raw, "kind")
		delete(raw, "metadata")
		n := at
		raw, _ = untyped.Mutate(raw, &n, untyped.Clone(value)).(map[string]any)
		if n >= 0 {
			return
		}
		if raw != nil {
			test(widget(raw))
		}
	}
}

// structuralExample is an object in testdata and the schema in the same archive.
type structuralExample struct {
	name, schema string
	object       map[string]any
}

func structuralExamples(t *testing.T) (examples []structuralExample) {
	t.Helper()
	files, err := filepath.Glob("testdata/structural/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatalf("no files: %v", err)
	}
	for _, file := range files {
		archive, err := txtar.ParseFile(file)
		if err != nil {
			t.Fatal(err)
		}
		definition := ""
		for _, part := range archive.Files {
			switch {
			case part.Name == "schema.yaml":
				definition = string(part.Data)
			case strings.HasSuffix(part.Name, ".yaml"):
				examples = append(examples, structuralExample{filepath.Base(file) + "/" + part.Name, definition, untyped.Parse(t, part.Data).Object})
			}
		}
	}
	return examples
}

// promised checks a value, and fails unless every promise of Check holds for the result.
func promised(t testing.TB, s *Schema, raw map[string]any) *Checked {
	t.Helper()
	same, _ := untyped.Clone(raw).(map[string]any)
	got := checkStructural(s, raw)
	if !untyped.Equal(raw, same) {
		t.Fatalf("changed its input\nfrom %v\nto   %v", same, raw)
	}
	again := checkStructural(s, same)
	if !reflect.DeepEqual(got, again) {
		t.Fatalf("two answers:\n%s\n%s", describeChecked(got), describeChecked(again))
	}
	untyped.Destroy(same)
	if !reflect.DeepEqual(got, again) {
		t.Fatalf("kept something of its input:\n%s\n%s", describeChecked(got), describeChecked(again))
	}
	untyped.CheckProblems(t, got.Problems, MaxProblems+1)
	untyped.CheckProblems(t, got.Warnings, MaxProblems+1)
	for _, p := range got.Problems {
		if strings.Contains(p.String(), "bug") {
			t.Fatalf("unexpected problem %s", p)
		}
	}
	return got
}

// TestStructuralEndless: objects that are larger or deeper than any JSON, or that contain themselves.
func TestStructuralEndless(t *testing.T) {
	s, _ := schemaIn(t, `{type: object, x-kubernetes-preserve-unknown-fields: true, properties: {
		list: {type: array, items: {type: string}}, free: {x-kubernetes-preserve-unknown-fields: true},
		embedded: {type: object, x-kubernetes-embedded-resource: true, x-kubernetes-preserve-unknown-fields: true}}}`)
	endless := map[string]any{}
	endless["free"], endless["embedded"], endless["other"] = endless, endless, endless
	many := make([]any, workLimit)
	for name, raw := range map[string]map[string]any{
		"endless": endless, "many": {"list": many}, "nothing": nil,
		"deep": {"free": untyped.Nested(100000)},
	} {
		got := s.Check(&unstructured.Unstructured{Object: raw})
		again := s.Check(&unstructured.Unstructured{Object: raw})
		if len(got.Problems) == 0 || !reflect.DeepEqual(got, again) {
			t.Errorf("%s: %v, then %v", name, got.Problems, again.Problems)
		}
		untyped.CheckProblems(t, got.Problems, MaxProblems+1)
	}
	if got := s.Check(nil); len(got.Problems) == 0 {
		t.Error("nothing is well-formed")
	}
}

// FuzzStructural checks any object by any schema.
func FuzzStructural(f *testing.F) {
	f.Add([]byte(`{"type":"object","properties":{"spec":{"type":"object","required":["a"],"properties":{"a":{"type":"string","pattern":"^a"}}}}}`),
		[]byte(`{"spec":{"a":"b","c":null}}`))
	f.Add([]byte(`{"type":"object","oneOf":[{"required":["a"]},{"required":["b"]}],"properties":{"a":{"x-kubernetes-int-or-string":true},"b":{"type":"number","maximum":3}}}`),
		[]byte(`{"a":1,"b":4}`))
	f.Add([]byte(`{"type":"object","properties":{"l":{"type":"array","x-kubernetes-list-type":"set","items":{"type":"string","format":"ipv4"}}}}`),
		[]byte(`{"l":["x","x"]}`))
	f.Fuzz(func(t *testing.T, definition, object []byte) {
		root := &props{}
		var raw map[string]any
		if yaml.Unmarshal(definition, root) != nil || json.Unmarshal(object, &raw) != nil || raw == nil {
			t.Skip()
		}
		all, err := Structural(resourceOf(root))
		if err != nil {
			return
		}
		promised(t, all[0], raw)
	})
}

// resourceOf returns the definition of a custom resource with one version.
func resourceOf(root *props) *apiextensionsv1.CustomResourceDefinition {
	crd := &apiextensionsv1.CustomResourceDefinition{}
	crd.Name = "widgets.example.com"
	crd.Spec.Group, crd.Spec.Scope = "example.com", apiextensionsv1.NamespaceScoped
	crd.Spec.Names = apiextensionsv1.CustomResourceDefinitionNames{Kind: "Widget", Plural: "widgets"}
	crd.Spec.Versions = []apiextensionsv1.CustomResourceDefinitionVersion{{Name: "v1", Served: true, Storage: true,
		Schema: &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: root}}}
	return crd
}

func widget(fields map[string]any) map[string]any {
	fields["apiVersion"], fields["kind"], fields["metadata"] = "example.com/v1", "Widget", map[string]any{"name": "w"}
	return fields
}

// describeChecked formats the result of a check for readers to review.
func describeChecked(c *Checked) (text string) {
	for _, some := range []struct {
		severity string
		problems []schema.Problem
	}{{"error", c.Problems}, {"warning", c.Warnings}} {
		for _, p := range some.problems {
			text += fmt.Sprintf("%s: %s [%s]\n", some.severity, p, p.Code)
		}
	}
	return text
}
