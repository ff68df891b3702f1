package convert

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"regexp"
	"slices"
	"strings"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	fieldpath "k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/kube-openapi/pkg/validation/strfmt"

	"stoic/schema"
)

// A schema is bounded before anything reads it. No API server stores a larger one, because a request has at most 3 MiB, and a
// schema that refers to itself has no end.
const (
	schemaDepthLimit = 200
	schemaNodeLimit  = 1 << 17
)

// schemaNode is one place of a structural schema, prepared for the inspection of values.
type schemaNode struct {
	kind        string // object, array, string, integer, number, boolean, or empty for any
	intOrString bool
	nullable    bool
	preserve    bool // x-kubernetes-preserve-unknown-fields
	embedded    bool // x-kubernetes-embedded-resource
	omits       bool // empty fields count as absent: of metadata, which Go reads
	initial     any  // the default with all defaults in it; nil if there is none

	properties map[string]*schemaNode
	names      []string    // of the properties, in order
	additional *schemaNode // the schema of values of undeclared keys; nil if they have none
	open       bool        // additionalProperties: true
	items      *schemaNode

	enum       []any
	format     string // one that strings are validated for
	pattern    *regexp.Regexp
	least      bound
	most       bound
	multipleOf *float64
	whole      *Shape // of integers: the range of their format

	lengths, sizes, counts span64 // of strings, lists, objects
	required               []string
	unique                 bool   // uniqueItems
	listType               string // set or map
	listKeys               []string

	allOf, anyOf, oneOf []*schemaNode
	not                 *schemaNode
	metadata            *schemaNode // of an embedded resource
}

// bound is one end of a range of numbers.
type bound struct {
	at        *float64
	exclusive bool
}

// span64 is a range of lengths. An end that is nil is unbounded.
type span64 struct{ least, most *int64 }

// structuralNode builds the nodes of a schema. Errors begin with the path below the root.
func structuralNode(root *apiextensionsv1.JSONSchemaProps) (*schemaNode, error) {
	size := &schemaSize{}
	if err := size.measure("", root, 0); err != nil {
		return nil, err
	}
	var internal apiextensions.JSONSchemaProps
	if err := apiextensionsv1.Convert_v1_JSONSchemaProps_To_apiextensions_JSONSchemaProps(root, &internal, nil); err != nil {
		return nil, fmt.Errorf(": %w", err)
	}
	structural, err := structuralschema.NewStructural(&internal)
	if err != nil {
		return nil, fmt.Errorf(": %w", err)
	}
	if faults := structuralschema.ValidateStructural(fieldpath.NewPath(""), structural); len(faults) > 0 {
		said := strings.TrimPrefix(faults[0].Error(), "<nil>")
		return nil, errors.New(said)
	}
	return buildNode("", &internal)
}

// schemaSize counts the nodes of a schema.
type schemaSize struct{ nodes int }

// measure returns an error for what no API server accepts, and for what the readers of schemas cannot handle.
func (m *schemaSize) measure(path string, s *apiextensionsv1.JSONSchemaProps, depth int) error {
	if m.nodes++; m.nodes > schemaNodeLimit {
		return fmt.Errorf(": found more than %d schemas, must have fewer", schemaNodeLimit)
	}
	if depth > schemaDepthLimit {
		return fmt.Errorf(": found more than %d levels, must be nested less deeply; does it refer to itself?", schemaDepthLimit)
	}
	switch s.Type {
	case "", "object", "array", "string", "integer", "number", "boolean":
	default:
		return fmt.Errorf("%s.type: found %s, must be one of object, array, string, integer, number, boolean", path, schema.Quote(s.Type))
	}
	if preserve := s.XPreserveUnknownFields; preserve != nil && !*preserve {
		return fmt.Errorf("%s.x-kubernetes-preserve-unknown-fields: must be true or left out", path)
	}
	if s.Pattern != "" {
		if _, err := regexp.Compile(s.Pattern); err != nil {
			return fmt.Errorf("%s.pattern: must be a regular expression of RE2: %w", path, err)
		}
	}
	for _, key := range slices.Sorted(maps.Keys(s.Properties)) {
		below := s.Properties[key]
		if err := m.measure(below0(path, "properties", key), &below, depth+1); err != nil {
			return err
		}
	}
	return m.below(path, s, depth)
}

// below measures all subschemas other than properties.
func (m *schemaSize) below(path string, s *apiextensionsv1.JSONSchemaProps, depth int) error {
	for _, one := range []struct {
		key   string
		below *apiextensionsv1.JSONSchemaProps
	}{{"not", s.Not}, {"items", itemsOf(s.Items)}, {"additionalProperties", schemaOf(s.AdditionalProperties)}} {
		if one.below == nil {
			continue
		}
		if err := m.measure(path+"."+one.key, one.below, depth+1); err != nil {
			return err
		}
	}
	for _, some := range []struct {
		key   string
		below []apiextensionsv1.JSONSchemaProps
	}{{"allOf", s.AllOf}, {"anyOf", s.AnyOf}, {"oneOf", s.OneOf}} {
		for i := range some.below {
			if err := m.measure(fmt.Sprintf("%s.%s[%d]", path, some.key, i), &some.below[i], depth+1); err != nil {
				return err
			}
		}
	}
	return unsupported(path, s)
}

// unsupported returns an error for parts of JSON schema that Kubernetes does not support. What is below them is not read.
func unsupported(path string, s *apiextensionsv1.JSONSchemaProps) error {
	key := ""
	switch {
	case s.Ref != nil:
		key = "$ref"
	case s.ID != "":
		key = "id"
	case s.Schema != "":
		key = "$schema"
	case len(s.Definitions) > 0:
		key = "definitions"
	case len(s.Dependencies) > 0:
		key = "dependencies"
	case len(s.PatternProperties) > 0:
		key = "patternProperties"
	case s.AdditionalItems != nil:
		key = "additionalItems"
	case s.Items != nil && len(s.Items.JSONSchemas) > 0:
		return fmt.Errorf("%s.items: found a list, must be one schema", path)
	default:
		return nil
	}
	return fmt.Errorf("%s.%s: a CustomResourceDefinition cannot have it", path, key)
}

func itemsOf(items *apiextensionsv1.JSONSchemaPropsOrArray) *apiextensionsv1.JSONSchemaProps {
	if items == nil {
		return nil
	}
	return items.Schema
}

func schemaOf(additional *apiextensionsv1.JSONSchemaPropsOrBool) *apiextensionsv1.JSONSchemaProps {
	if additional == nil {
		return nil
	}
	return additional.Schema
}

// below0 returns the path of a key of a map of schemas.
func below0(path, key, name string) string {
	return path + "." + key + "[" + schema.Clean(name, MaxKey) + "]"
}

// buildNode returns the node of a schema that is known to be structural and bounded.
func buildNode(path string, s *apiextensions.JSONSchemaProps) (*schemaNode, error) {
	n := &schemaNode{kind: s.Type, intOrString: s.XIntOrString, nullable: s.Nullable, embedded: s.XEmbeddedResource,
		preserve: s.XPreserveUnknownFields != nil && *s.XPreserveUnknownFields,
		least:    bound{s.Minimum, s.ExclusiveMinimum}, most: bound{s.Maximum, s.ExclusiveMaximum}, multipleOf: s.MultipleOf,
		lengths: span64{s.MinLength, s.MaxLength}, sizes: span64{s.MinItems, s.MaxItems}, counts: span64{s.MinProperties, s.MaxProperties},
		required: s.Required, unique: s.UniqueItems, listKeys: s.XListMapKeys, enum: jsonOf(s.Enum)}
	if s.XListType != nil {
		n.listType = *s.XListType
	}
	if s.Pattern != "" {
		n.pattern = regexp.MustCompile(s.Pattern) // measured before
	}
	if s.Type == "integer" {
		n.whole = &Shape{form: integer, min: math.MinInt64, max: math.MaxInt64}
		if s.Format == "int32" {
			n.whole.min, n.whole.max = math.MinInt32, math.MaxInt32
		}
	}
	// The API server ignores a format that it does not know.
	if (s.Type == "string" || s.Type == "") && strfmt.Default.ContainsName(s.Format) || s.Type == "number" && s.Format == "float" {
		n.format = s.Format
	}
	if n.embedded {
		n.metadata = metadataNode(false)
	}
	if err := n.structure(path, s); err != nil {
		return nil, err
	}
	if err := n.junctors(path, s); err != nil {
		return nil, err
	}
	if s.Default != nil {
		n.initial = complete(n, *s.Default)
	}
	return n, nil
}

// structure builds the nodes below.
func (n *schemaNode) structure(path string, s *apiextensions.JSONSchemaProps) (err error) {
	n.properties = make(map[string]*schemaNode, len(s.Properties))
	for key := range s.Properties {
		below := s.Properties[key]
		if n.properties[key], err = buildNode(below0(path, "properties", key), &below); err != nil {
			return err
		}
	}
	n.names = slices.Sorted(maps.Keys(n.properties))
	if s.Items != nil && s.Items.Schema != nil {
		if n.items, err = buildNode(path+".items", s.Items.Schema); err != nil {
			return err
		}
	}
	switch additional := s.AdditionalProperties; {
	case additional == nil:
	case additional.Schema != nil:
		n.additional, err = buildNode(path+".additionalProperties", additional.Schema)
	case additional.Allows:
		n.open = true
	default:
		return fmt.Errorf("%s.additionalProperties: must not be false; unknown fields are left out in any case", path)
	}
	return err
}

// junctors builds the clauses of a schema, except for those that only repeat x-kubernetes-int-or-string.
func (n *schemaNode) junctors(path string, s *apiextensions.JSONSchemaProps) error {
	for _, some := range []struct {
		key  string
		from []apiextensions.JSONSchemaProps
		to   *[]*schemaNode
	}{{"allOf", s.AllOf, &n.allOf}, {"anyOf", s.AnyOf, &n.anyOf}, {"oneOf", s.OneOf, &n.oneOf}} {
		if n.intOrString && some.key == "anyOf" && repeatsIntOrString(some.from) {
			continue
		}
		for i := range some.from {
			clause, err := buildNode(fmt.Sprintf("%s.%s[%d]", path, some.key, i), &some.from[i])
			if err != nil {
				return err
			}
			*some.to = append(*some.to, clause)
		}
	}
	if n.intOrString && len(s.AllOf) > 0 && repeatsIntOrString(s.AllOf[0].AnyOf) {
		n.allOf[0].anyOf = nil
	}
	if s.Not == nil {
		return nil
	}
	var err error
	n.not, err = buildNode(path+".not", s.Not)
	return err
}

func repeatsIntOrString(clauses []apiextensions.JSONSchemaProps) bool {
	return len(clauses) == 2 && clauses[0].Type == "integer" && clauses[1].Type == "string"
}

func jsonOf(values []apiextensions.JSON) []any {
	var all []any
	for _, v := range values {
		all = append(all, v)
	}
	return all
}

// form returns the form by which messages name the required type.
func (n *schemaNode) form() form {
	switch n.kind {
	case "object":
		return object
	case "array":
		return list
	case "string":
		return text
	case "integer":
		return integer
	case "number":
		return float
	case "boolean":
		return boolean
	}
	if n.intOrString {
		return intOrString
	}
	return anything
}
