package convert

import (
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"stoic/schema"
)

// Disagreements returns the differences between the spec of a version of a CRD and what Typed requires of T with the same options:
// fields, types, required, enum, bounds, and whether there is a pattern. Markers and tags state these twice, and a test can require
// that they agree. A pattern in a tag must equal that of the CRD; a name= tag agrees with any. The effects of And, Validate
// and Default are not known. Types of Kubernetes are skipped: API servers and this package have rules of their own for them.
//
// It panics where Typed does.
func Disagreements[T any](crd *apiextensionsv1.CustomResourceDefinition, version string, with ...Option) []string {
	l := typedOf[T](schema.Resource{}, with).layout
	i := slices.IndexFunc(crd.Spec.Versions, func(v apiextensionsv1.CustomResourceDefinitionVersion) bool { return v.Name == version })
	if i < 0 || crd.Spec.Versions[i].Schema == nil || crd.Spec.Versions[i].Schema.OpenAPIV3Schema == nil {
		return []string{"the CRD has no schema of version " + strconv.Quote(version)}
	}
	asked := only(l.whole.required, "spec")
	if spec := l.whole.fields["spec"]; spec != nil && len(spec.shape.required)+len(spec.shape.needs) > 0 {
		asked = []string{"spec"} // an absent spec is read as an empty one, which lacks its required fields
	}
	var c comparison
	root := crd.Spec.Versions[i].Schema.OpenAPIV3Schema
	c.object(apiextensionsv1.JSONSchemaProps{Type: "object", Required: only(root.Required, "spec"), Properties: pick(root.Properties, "spec")},
		&Shape{form: object, required: asked, needs: only(l.whole.needs, "spec"), fields: pick(l.whole.fields, "spec")}, reflect.TypeFor[T](), "")
	return c
}

func only(names []string, name string) []string {
	return slices.DeleteFunc(slices.Clone(names), func(n string) bool { return n != name })
}

func pick[V any](all map[string]V, name string) map[string]V {
	if one, ok := all[name]; ok {
		return map[string]V{name: one}
	}
	return nil
}

// comparison holds the differences, one sentence each.
type comparison []string

func (c *comparison) differ(path, what, inCRD, inType string) {
	if inCRD != inType {
		*c = append(*c, fmt.Sprintf("%s: %s is %s in the CRD, and %s in the type", path, what, inCRD, inType))
	}
}

// node compares a value of any type.
func (c *comparison) node(n apiextensionsv1.JSONSchemaProps, s *Shape, t reflect.Type, path string) {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if t.Kind() == reflect.Struct && strings.HasPrefix(t.PkgPath(), "k8s.io/") || s.form == ignored || s.form == useless || s.form == anything {
		return
	}
	if c.differ(path, "the type", typeIn(n), typeOf(s)); typeIn(n) != typeOf(s) {
		return
	}
	switch s.form {
	case object:
		c.object(n, s, t, path)
	case list:
		c.size(path, "minItems", "maxItems", n.MinItems, n.MaxItems, s)
		if n.Items != nil && n.Items.Schema != nil {
			c.node(*n.Items.Schema, s.elem, t.Elem(), path+"[]")
		}
	case dict:
		c.size(path, "minProperties", "maxProperties", n.MinProperties, n.MaxProperties, s)
		if n.AdditionalProperties != nil && n.AdditionalProperties.Schema != nil {
			c.node(*n.AdditionalProperties.Schema, s.elem, t.Elem(), path+"{}")
		}
	case text:
		c.text(n, s, path)
	case integer, float, intOrString:
		c.number(n, s, path)
	}
}

// typeIn returns a type in the words of CRDs.
func typeIn(n apiextensionsv1.JSONSchemaProps) string {
	if n.XIntOrString {
		return "int-or-string"
	}
	return n.Type
}

func typeOf(s *Shape) string {
	switch s.form {
	case object, dict:
		return "object"
	case list:
		return "array"
	case boolean:
		return "boolean"
	case integer:
		return "integer"
	case float:
		return "number"
	case intOrString, quantity:
		return "int-or-string"
	}
	return "string"
}

func (c *comparison) object(n apiextensionsv1.JSONSchemaProps, s *Shape, t reflect.Type, path string) {
	in := func(name string) string { return strings.TrimPrefix(path+"."+name, ".") }
	names := map[string]bool{}
	for name := range s.fields {
		names[name] = true
	}
	for name := range n.Properties {
		names[name] = true
	}
	for _, name := range sortedKeys(names) {
		property, inCRD := n.Properties[name]
		f := s.fields[name]
		c.differ(in(name), "the field", there(inCRD), there(f != nil))
		if !inCRD || f == nil {
			continue
		}
		asked := slices.Contains(s.required, name) || slices.Contains(s.needs, name)
		c.differ(in(name), "the field", required(slices.Contains(n.Required, name)), required(asked))
		if f.index != nil {
			c.node(property, f.shape, t.FieldByIndex(f.index).Type, in(name))
		}
	}
}

func there(is bool) string {
	return map[bool]string{true: "there", false: "absent"}[is]
}

func required(is bool) string {
	return map[bool]string{true: "required", false: "optional"}[is]
}

func sortedKeys(m map[string]bool) (names []string) {
	for name := range m {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// size compares bounds of a length or of a number of items.
func (c *comparison) size(path, least, most string, min, max *int64, s *Shape) {
	l := s.limits
	if l == nil {
		l = unlimited()
	}
	atLeast, atMost := l.minItems, l.maxItems
	if s.form == text {
		atLeast, atMost = l.minLength, l.maxLength
	}
	if min != nil && *min == 0 {
		min = nil // a minimum of 0 is the same as none
	}
	c.differ(path, least, limitIn(min), natural(atLeast, 0))
	c.differ(path, most, limitIn(max), natural(atMost, math.MaxInt))
}

const unset = "not set"

// limitIn returns a bound of a CRD as text.
func limitIn(n *int64) string {
	if n == nil {
		return unset
	}
	return strconv.FormatInt(*n, 10)
}

func natural(n, none int) string {
	if n == none {
		return unset
	}
	return strconv.Itoa(n)
}

func (c *comparison) text(n apiextensionsv1.JSONSchemaProps, s *Shape, path string) {
	c.differ(path, "enum", enumIn(n.Enum), enumOf(s.words))
	name := s.spelling == &labelForm || s.spelling == &subdomainForm
	if name && n.MaxLength != nil { // which is that of the names
		n.MaxLength = nil
	}
	c.size(path, "minLength", "maxLength", n.MinLength, n.MaxLength, s)
	pattern, asked := unset, unset
	if n.Pattern != "" {
		pattern = "`" + n.Pattern + "`"
	}
	switch {
	case name && n.Pattern != "":
		asked = pattern
	case name:
		asked = "that of a name"
	case s.spelling != nil:
		asked = strings.TrimPrefix(s.spelling.want, "match ")
	}
	c.differ(path, "pattern", pattern, asked)
}

func enumIn(enum []apiextensionsv1.JSON) string {
	var words []string
	for _, one := range enum {
		var value any
		if json.Unmarshal(one.Raw, &value) != nil {
			value = string(one.Raw)
		}
		words = append(words, fmt.Sprint(value))
	}
	return enumOf(words)
}

func enumOf(words []string) string {
	if len(words) == 0 {
		return unset
	}
	words = slices.Clone(words)
	slices.Sort(words)
	return strings.Join(words, ";")
}

func (c *comparison) number(n apiextensionsv1.JSONSchemaProps, s *Shape, path string) {
	l := s.limits
	if l == nil {
		l = unlimited()
	}
	var numbers []string
	for _, one := range l.numbers {
		numbers = append(numbers, strconv.FormatInt(one, 10))
	}
	c.differ(path, "enum", enumIn(n.Enum), enumOf(numbers))
	if s.form == float {
		c.differ(path, "minimum", decimal(n.Minimum), decimals(l.least))
		c.differ(path, "maximum", decimal(n.Maximum), decimals(l.most))
		return
	}
	c.differ(path, "minimum", boundIn(n.Minimum, s.lowest), boundOf(s.min, s.lowest))
	c.differ(path, "maximum", boundIn(n.Maximum, s.highest), boundOf(s.max, s.highest))
}

func decimal(f *float64) string {
	if f == nil {
		return unset
	}
	return decimals(*f)
}

func decimals(f float64) string {
	if math.IsInf(f, 0) {
		return unset
	}
	return strconv.FormatFloat(f, 'f', -1, 64)
}

// boundIn returns a bound of the integers of a CRD as text, or unset if the Go type has it anyway. The 0 of unsigned types counts: no
// format of a schema implies it.
func boundIn(n *float64, ofType int64) string {
	if n != nil && *n == float64(ofType) && ofType != 0 {
		return unset
	}
	return decimal(n)
}

// boundOf returns a bound of the integers of a field as text, or unset if it is that of the Go type.
func boundOf(n, ofType int64) string {
	if n == ofType && ofType != 0 {
		return unset
	}
	return strconv.FormatInt(n, 10)
}
