package mutation

import (
	"encoding/json"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
)

// Schema is the schema of a CRD as it is shipped.
type Schema = apiextensionsv1.JSONSchemaProps

// declared returns the schema of a place; nil if none is declared.
func declared(s *Schema, p Path) *Schema {
	for _, step := range p {
		if s == nil {
			return nil
		}
		switch step := step.(type) {
		case string:
			field, known := s.Properties[step]
			switch {
			case known:
				s = &field
			case s.AdditionalProperties != nil:
				s = s.AdditionalProperties.Schema
			default:
				return nil
			}
		case int:
			if s.Items == nil {
				return nil
			}
			s = s.Items.Schema
		}
	}
	return s
}

// contradicts reports whether the schema declares a type that no value of v's type has. null counts as a missing field. A number
// that is too large to be an integer is a matter of size. A fraction is accepted as a quantity, too, whatever the schema says.
func contradicts(s *Schema, v any) bool {
	if s == nil || s.Type == "" && !s.XIntOrString {
		return false
	}
	in := func(types ...string) bool {
		for _, t := range types {
			if s.Type == t {
				return false
			}
		}
		return true
	}
	switch v := v.(type) {
	case bool:
		return in("boolean")
	case string:
		return !s.XIntOrString && in("string")
	case json.RawMessage: // a text
		return !s.XIntOrString && in("string")
	case int64:
		return !s.XIntOrString && in("integer", "number")
	case json.Number:
		return !s.XIntOrString && in("integer", "number")
	case float64:
		return !s.XIntOrString && in("number") && (v != float64(int64(v)) || in("integer"))
	case []any:
		return in("array")
	case map[string]any:
		return in("object")
	}
	return false
}
