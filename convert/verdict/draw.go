package verdict

import (
	"fmt"
	"math"
	"math/rand/v2"
	"regexp"
	"slices"
	"strconv"
	"strings"

	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
)

// drawer draws values that a schema describes. Not every value is valid: anyOf, oneOf, allOf, not and rare patterns are left to the
// caller, who asks the schema.
type drawer struct {
	*rand.Rand
	texts   []string
	numbers []int64
}

// literal matches a text or a number in a rule.
var literal = regexp.MustCompile(`'([^'\\]*)'|"([^"\\]*)"|\b([0-9]{1,15})\b`)

// newDrawer returns a drawer that draws the same values each time, those that a rule names among them.
func newDrawer(rule string) drawer {
	d := drawer{Rand: rand.New(rand.NewPCG(1, 2)), texts: slices.Clone(usualTexts)}
	for _, found := range literal.FindAllStringSubmatch(rule, 20) {
		if found[3] == "" {
			d.texts = append(d.texts, found[1]+found[2])
			continue
		}
		if n, err := strconv.ParseInt(found[3], 10, 64); err == nil {
			d.numbers = append(d.numbers, n-1, n, n+1)
		}
	}
	return d
}

// depthLimit is how deep optional fields are filled.
const depthLimit = 6

func (d drawer) value(s *structuralschema.Structural, depth int) any {
	if v := s.ValueValidation; v != nil && len(v.Enum) > 0 {
		return v.Enum[d.IntN(len(v.Enum))].Object
	}
	switch s.Type {
	case "object":
		return d.object(s, depth)
	case "array":
		return d.array(s, depth)
	case "string":
		return d.text(s.ValueValidation)
	case "boolean":
		return d.IntN(2) == 0
	case "integer":
		return d.integer(s.ValueValidation)
	case "number":
		return float64(d.integer(s.ValueValidation))
	}
	switch {
	case s.XIntOrString && d.IntN(2) == 0:
		return d.integer(s.ValueValidation)
	case s.XIntOrString:
		return d.text(s.ValueValidation)
	}
	return map[string]any{} // a value of any type
}

func (d drawer) object(s *structuralschema.Structural, depth int) map[string]any {
	drawn := map[string]any{}
	for _, name := range sortedNames(s.Properties) {
		child := s.Properties[name]
		required := s.ValueValidation != nil && slices.Contains(s.ValueValidation.Required, name)
		if required || depth < depthLimit && d.IntN(2) == 0 {
			drawn[name] = d.value(&child, depth+1)
		}
	}
	if s.AdditionalProperties != nil && s.AdditionalProperties.Structural != nil && depth < depthLimit {
		least := 0
		if s.ValueValidation != nil && s.ValueValidation.MinProperties != nil {
			least = int(min(*s.ValueValidation.MinProperties, 20))
		}
		for i := range least + d.IntN(2) {
			drawn[fmt.Sprintf("key-%d", i)] = d.value(s.AdditionalProperties.Structural, depth+1)
		}
	}
	if s.XEmbeddedResource {
		drawn["apiVersion"], drawn["kind"] = "example.com/v1", "Example"
		drawn["metadata"] = map[string]any{"name": "example"}
	}
	return drawn
}

func (d drawer) array(s *structuralschema.Structural, depth int) []any {
	least, most := int64(0), int64(2)
	if v := s.ValueValidation; v != nil {
		if v.MinItems != nil {
			least = min(*v.MinItems, 20)
		}
		most = least + 2
		if v.MaxItems != nil {
			most = min(most, *v.MaxItems)
		}
	}
	if depth >= depthLimit {
		most = least
	}
	drawn := []any{}
	if s.Items == nil {
		return drawn
	}
	for range least + d.Int64N(max(most-least, 0)+1) {
		drawn = append(drawn, d.value(s.Items, depth+1))
	}
	return drawn
}

func (d drawer) integer(v *structuralschema.ValueValidation) int64 {
	least, most := int64(0), int64(10)
	if v != nil && v.Minimum != nil {
		least = int64(math.Ceil(*v.Minimum))
		most = least + 10
	}
	if v != nil && v.Maximum != nil {
		most = int64(math.Floor(*v.Maximum))
		if v.Minimum == nil {
			least = min(least, most-10)
		}
	}
	switch d.IntN(4) {
	case 0:
		return least
	case 1:
		return most
	case 2:
		if len(d.numbers) > 0 {
			n := d.numbers[d.IntN(len(d.numbers))]
			if (v == nil || v.Minimum == nil || n >= least) && (v == nil || v.Maximum == nil || n <= most) {
				return n
			}
		}
	}
	return least + d.Int64N(max(min(most-least, 1000), 0)+1)
}

// usualTexts are values of the formats and patterns that definitions have most.
var usualTexts = []string{"a", "", "example", "Example", "a-b", "example.com", "example.com/name", "a.b/c", "1", "10", "0.5", "500m", "64Gi", "50%", "1s", "1h30m", "v1",
	"v1.2.3", "1.2.3", "2020-01-02T03:04:05Z", "2020-01-02", "10.0.0.1", "10.0.0.0/8", "2001:db8::1", "2001:db8::/32", "https://example.com/a", "http://example.com",
	"user@example.com", "/path", "/", "registry.example.com/image:tag", "sha256:" + strings.Repeat("0a", 32), "arn:aws:iam::123456789012:role/example",
	"123e4567-e89b-12d3-a456-426614174000", "dGV4dA==", "*", "*.example.com", "key=value", "00:11:22:33:44:55", "us-east-1", "i-0123456789abcdef0", "True", "true"}

func (d drawer) text(v *structuralschema.ValueValidation) string {
	start := d.IntN(len(d.texts))
	if v == nil {
		return d.texts[start]
	}
	var pattern *regexp.Regexp
	if v.Pattern != "" {
		pattern, _ = regexp.Compile(v.Pattern) // an API server compiles it, too
	}
	for i := range d.texts {
		text := d.texts[(start+i)%len(d.texts)]
		if v.MinLength != nil && int64(len(text)) < *v.MinLength && *v.MinLength < 1000 && v.Pattern == "" && v.Format == "" {
			text += strings.Repeat("x", int(*v.MinLength)-len(text))
		}
		if (v.MaxLength == nil || int64(len(text)) <= *v.MaxLength) && (v.MinLength == nil || int64(len(text)) >= *v.MinLength) &&
			(pattern == nil || pattern.MatchString(text)) && fitsFormat(v.Format, text) {
			return text
		}
	}
	return d.texts[start]
}
