package convert

import (
	"fmt"
	"slices"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"pgregory.net/rapid"

	"stoic/schema"
	"stoic/test/untyped"
)

type props = apiextensionsv1.JSONSchemaProps

// drawSchema draws the structural schema of an object. It leaves out quirks of the API server that are stated exceptions
// (test/integration/structural_exceptions_test.go): fractional bounds of integers, bounds that exclude the integer to which an API
// server cuts them, and enums of mixed types.
func drawSchema(t *rapid.T) *props {
	root := drawObject(t, 3)
	root.Properties["spec"] = *drawNode(t, 2)
	if chance(t, 30) {
		root.Properties["status"] = *drawNode(t, 2)
	}
	return root
}

// drawSubresources draws the status and scale subresources for a schema of drawSchema.
func drawSubresources(t *rapid.T) *apiextensionsv1.CustomResourceSubresources {
	sub := &apiextensionsv1.CustomResourceSubresources{}
	if chance(t, 30) {
		sub.Status = &apiextensionsv1.CustomResourceSubresourceStatus{}
	}
	if chance(t, 50) {
		sub.Scale = &apiextensionsv1.CustomResourceSubresourceScale{SpecReplicasPath: ".spec." + rapid.SampledFrom([]string{"replicas", "alpha.replicas"}).Draw(t, "path"),
			StatusReplicasPath: ".status.replicas"}
		if chance(t, 50) {
			sub.Scale.LabelSelectorPath = new(rapid.SampledFrom([]string{".spec.name", ".status.name"}).Draw(t, "selector"))
		}
	}
	return sub
}

var fieldNames = []string{"alpha", "beta", "gamma", "delta", "replicas", "name"}

func chance(t *rapid.T, percent int) bool { return rapid.IntRange(0, 99).Draw(t, "chance") < percent }

func drawObject(t *rapid.T, depth int) *props {
	s := &props{Type: "object", Properties: map[string]props{}}
	for _, name := range rapid.SliceOfNDistinct(rapid.SampledFrom(fieldNames), 1, 4, rapid.ID[string]).Draw(t, "fields") {
		s.Properties[name] = *drawNode(t, depth-1)
	}
	names := keysOf(s.Properties)
	if chance(t, 40) {
		s.Required = rapid.SliceOfNDistinct(rapid.SampledFrom(names), 1, 2, rapid.ID[string]).Draw(t, "required")[:1]
	}
	if chance(t, 15) {
		s.XPreserveUnknownFields = new(true)
	}
	if chance(t, 15) {
		s.MaxProperties = new(rapid.Int64Range(1, 3).Draw(t, "most"))
	}
	if chance(t, 40) {
		clauses := drawClauses(t, s)
		switch rapid.IntRange(0, 3).Draw(t, "junctor") {
		case 0:
			s.AnyOf = clauses
		case 1:
			s.OneOf = clauses
		case 2:
			s.AllOf = clauses
		default:
			s.Not = &clauses[0]
		}
	}
	return s
}

func keysOf(m map[string]props) (names []string) {
	for name := range m {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// drawClauses draws the clauses of a junctor of an object.
func drawClauses(t *rapid.T, s *props) []props {
	names := keysOf(s.Properties)
	var clauses []props
	for range rapid.IntRange(1, 3).Draw(t, "clauses") {
		clause := props{}
		name := rapid.SampledFrom(names).Draw(t, "about")
		if chance(t, 60) {
			clause.Required = []string{name}
		} else {
			below := props{}
			drawBounds(t, s.Properties[name].Type, &below)
			clause.Properties = map[string]props{name: below}
		}
		if chance(t, 15) {
			inner := clause
			clause = props{Not: &inner}
		}
		clauses = append(clauses, clause)
	}
	return clauses
}

func drawNode(t *rapid.T, depth int) *props {
	kinds := []string{"string", "integer", "number", "boolean", "intOrString", "any", "object", "map", "array", "embedded", "open"}
	if depth <= 0 {
		kinds = kinds[:6]
	}
	s := &props{}
	switch kind := rapid.SampledFrom(kinds).Draw(t, "kind"); kind {
	case "object":
		s = drawObject(t, depth)
	case "map":
		s = &props{Type: "object", AdditionalProperties: &apiextensionsv1.JSONSchemaPropsOrBool{Allows: true, Schema: drawNode(t, depth-1)}}
	case "open":
		s = &props{Type: "object", AdditionalProperties: &apiextensionsv1.JSONSchemaPropsOrBool{Allows: true}}
	case "array":
		s = drawList(t, depth)
	case "embedded":
		s = drawObject(t, depth)
		s.XEmbeddedResource, s.XPreserveUnknownFields = true, new(true)
	case "any":
		s.XPreserveUnknownFields = new(true)
		if chance(t, 20) {
			s.Format = drawFormat(t)
		}
	case "intOrString":
		s.XIntOrString = true
		switch rapid.IntRange(0, 9).Draw(t, "either") {
		case 0:
			s.AllOf = []props{{Format: drawFormat(t)}}
		case 1:
			s.Format = drawFormat(t)
		case 2, 3, 4, 5:
			s.AnyOf = []props{{Type: "integer"}, {Type: "string"}}
		}
	default:
		s.Type = kind
		drawBounds(t, kind, s)
		if chance(t, 20) && len(s.Enum) == 0 {
			s.Default = &apiextensionsv1.JSON{Raw: []byte(map[string]string{"string": `"a"`, "integer": "4", "number": "4.5", "boolean": "true"}[kind])}
		}
	}
	s.Nullable = chance(t, 15)
	return s
}

func drawList(t *rapid.T, depth int) *props {
	s := &props{Type: "array", Items: &apiextensionsv1.JSONSchemaPropsOrArray{Schema: drawNode(t, depth-1)}}
	switch rapid.IntRange(0, 4).Draw(t, "list") {
	case 0:
		s.Items.Schema = &props{Type: "string"}
		s.XListType = new("set")
	case 1:
		s.Items.Schema = drawObject(t, 1)
		s.Items.Schema.Properties["name"] = props{Type: "string"}
		s.XListType, s.XListMapKeys = new("map"), []string{"name"}
	case 2:
		s.MinItems = new(int64(1))
	case 3:
		s.MaxItems = new(int64(2))
	}
	return s
}

// drawBounds draws the constraints of a scalar.
func drawBounds(t *rapid.T, kind string, s *props) {
	number := func(fraction float64) *float64 {
		n := float64(rapid.IntRange(-2, 6).Draw(t, "bound"))
		if s.Type != "integer" && n*fraction >= 0 && chance(t, 30) {
			n += fraction
		}
		return &n
	}
	switch choice := rapid.IntRange(0, 5).Draw(t, "bounds"); {
	case kind == "string" && choice == 0:
		s.Pattern = "^[a-c]+$"
	case kind == "string" && choice == 1:
		s.MaxLength = new(int64(2))
	case kind == "string" && choice == 2:
		s.MinLength = new(int64(2))
	case kind == "string" && choice == 3:
		s.Enum = []apiextensionsv1.JSON{{Raw: []byte(`"a"`)}, {Raw: []byte(`"bb"`)}}
	case kind == "string" && choice == 4, s.Type == "" && choice == 5:
		s.Format = drawFormat(t)
	case (kind == "integer" || kind == "number") && choice == 0:
		s.Minimum, s.ExclusiveMinimum = number(-0.5), chance(t, 30)
	case (kind == "integer" || kind == "number") && choice == 1:
		s.Maximum, s.ExclusiveMaximum = number(0.5), chance(t, 30)
	case (kind == "integer" || kind == "number") && choice == 2:
		s.MultipleOf = new(2.0)
	case kind == "integer" && choice == 3:
		s.Enum = []apiextensionsv1.JSON{{Raw: []byte("1")}, {Raw: []byte("4")}}
	case (kind == "integer" || kind == "number") && choice == 4 && s.Type != "":
		s.Format = rapid.SampledFrom([]string{"int32", "int64", "float", "double"}).Draw(t, "format")
	}
}

// drawFormat draws a format of strings, or an unknown one.
func drawFormat(t *rapid.T) string {
	return rapid.SampledFrom([]string{"ipv4", "date-time", "duration", "byte", "uuid", "unheard-of", "int32"}).Draw(t, "format")
}

// drawValue draws a value for a schema: most of the time of its type, and now and then another one.
func drawValue(t *rapid.T, s *props, depth int) any {
	if chance(t, 2) {
		return untyped.Clone(rapid.SampledFrom(oddValues()).Draw(t, "odd"))
	}
	if len(s.Enum) > 0 && chance(t, 80) {
		return map[string]any{`"a"`: "a", "1": int64(1)}[string(s.Enum[0].Raw)]
	}
	if (s.Pattern != "" || s.MaxLength != nil) && chance(t, 80) {
		return "bb"
	}
	if text := rightTexts()[s.Format]; text != "" && chance(t, 80) {
		return text
	}
	kind := s.Type
	if s.XIntOrString {
		kind = rapid.SampledFrom([]string{"integer", "string"}).Draw(t, "either")
	}
	switch kind {
	case "object":
		return drawFields(t, s, depth)
	case "array":
		var list []any
		for range rapid.IntRange(0, 3).Draw(t, "items") {
			list = append(list, drawValue(t, s.Items.Schema, depth-1))
		}
		return list
	case "string":
		return rapid.SampledFrom([]string{"", "a", "b", "bb", "abc", "1.2.3.4", "1h"}).Draw(t, "text")
	case "integer":
		return rapid.SampledFrom([]any{int64(4), int64(4), int64(2), int64(-3), int64(7), 2.0, int64(1) << 40}).Draw(t, "integer")
	case "number":
		return rapid.SampledFrom([]any{int64(4), int64(2), 4.5, -1.0, 1e300, 2.0}).Draw(t, "number")
	case "boolean":
		return chance(t, 50)
	}
	return untyped.Clone(rapid.SampledFrom(oddValues()).Draw(t, "any"))
}

// drawFields draws an object with all or some of its fields, and now and then an unknown one.
func drawFields(t *rapid.T, s *props, depth int) map[string]any {
	fields := map[string]any{}
	for _, name := range keysOf(s.Properties) {
		if slices.Contains(s.Required, name) && chance(t, 95) || chance(t, 40) {
			below := s.Properties[name]
			fields[name] = drawValue(t, &below, depth-1)
		}
	}
	if s.XEmbeddedResource && chance(t, 95) {
		fields["apiVersion"], fields["kind"] = "apps/v1", "Thing"
		if chance(t, 40) {
			fields["metadata"] = map[string]any{"name": "x", "labels": map[string]any{"a": "b"}}
		}
	}
	if a := s.AdditionalProperties; a != nil {
		for _, key := range []string{"one", "two"} {
			if a.Schema == nil {
				fields[key] = untyped.Clone(rapid.SampledFrom(oddValues()).Draw(t, "open"))
			} else if chance(t, 60) {
				fields[key] = drawValue(t, a.Schema, depth-1)
			}
		}
	}
	if chance(t, 5) {
		fields[rapid.SampledFrom([]string{"alpa", "unknown", "a.b/c"}).Draw(t, "unknown")] = untyped.Clone(rapid.SampledFrom(oddValues()).Draw(t, "odd"))
	}
	return fields
}

// rightTexts returns a valid string for each format.
func rightTexts() map[string]string {
	return map[string]string{"ipv4": "1.2.3.4", "date-time": "2020-01-02T03:04:05Z", "duration": "1h", "byte": "YQ==",
		"uuid": "1e0d5d0a-6c7f-4a55-9d6d-1d1c5b0b9c0e", "unheard-of": "a"}
}

// oddValues returns values of each type.
func oddValues() []any {
	return []any{nil, "x", int64(5), 2.5, true, []any{}, []any{"x", nil}, map[string]any{}, map[string]any{"alpha": int64(1), "k": map[string]any{"l": nil}}}
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
