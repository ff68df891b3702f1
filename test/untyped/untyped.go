package untyped

import (
	"maps"
	"reflect"
	"slices"
	"strings"
	"unicode/utf8"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/json"
	"pgregory.net/rapid"
	"sigs.k8s.io/yaml"

	"stoic/schema"
)

// Missing is the mutation that removes the node.
type Missing struct{}

// Mutate replaces the node with number *at, counted in order from v itself, and leaves *at negative if that node exists.
func Mutate(v any, at *int, value any) any {
	*at--
	if *at == -1 {
		return value
	}
	switch v := v.(type) {
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(v)) {
			if v[key] = Mutate(v[key], at, value); *at < 0 {
				if _, gone := v[key].(Missing); gone {
					delete(v, key)
				}
				return v
			}
		}
	case []any:
		for i := range v {
			if v[i] = Mutate(v[i], at, value); *at < 0 {
				if _, gone := v[i].(Missing); gone {
					return slices.Delete(v, i, i+1)
				}
				return v
			}
		}
	}
	return v
}

// Clone copies JSON and returns anything else unchanged.
func Clone(v any) any {
	switch v := v.(type) {
	case map[string]any:
		if v == nil {
			return v
		}
		c := make(map[string]any, len(v))
		for key, value := range v {
			c[key] = Clone(value)
		}
		return c
	case []any:
		c := make([]any, len(v))
		for i, value := range v {
			c[i] = Clone(value)
		}
		return c
	}
	return v
}

// Replace replaces each text, number and other leaf of v by the result of leaf.
func Replace(v any, leaf func(any) any) any {
	switch v := v.(type) {
	case map[string]any:
		for key := range v {
			v[key] = Replace(v[key], leaf)
		}
		return v
	case []any:
		for i := range v {
			v[i] = Replace(v[i], leaf)
		}
		return v
	}
	return leaf(v)
}

// Nested returns a value with so many levels, alternately objects and lists.
func Nested(depth int) any {
	var v any = "deep"
	for i := range depth {
		if i%2 == 0 {
			v = map[string]any{"a": v}
		} else {
			v = []any{v}
		}
	}
	return v
}

// Equal compares JSON; of anything else, and of what differs from itself, only the type.
func Equal(a, b any) bool {
	switch a := a.(type) {
	case map[string]any:
		b, ok := b.(map[string]any)
		return ok && maps.EqualFunc(a, b, Equal)
	case []any:
		b, ok := b.([]any)
		return ok && slices.EqualFunc(a, b, Equal)
	case string, bool, int64, nil:
		return a == b
	}
	return reflect.TypeOf(a) == reflect.TypeOf(b)
}

// Destroy empties every map and list.
func Destroy(v any) {
	switch v := v.(type) {
	case map[string]any:
		for _, value := range v {
			Destroy(value)
		}
		clear(v)
	case []any:
		for _, value := range v {
			Destroy(value)
		}
		clear(v)
	}
}

// Parse reads YAML as kubectl does and numbers as the API machinery does.
func Parse(t rapid.TB, text []byte) *unstructured.Unstructured {
	t.Helper()
	raw, err := yaml.YAMLToJSON(text)
	if err != nil {
		t.Fatal(err)
	}
	u := &unstructured.Unstructured{}
	if err := json.Unmarshal(raw, &u.Object); err != nil {
		t.Fatal(err)
	}
	return u
}

// CheckProblems fails for problems that are out of order, more than most, or not allowed in a message.
func CheckProblems(t rapid.TB, problems []schema.Problem, most int) {
	t.Helper()
	if len(problems) > most {
		t.Fatalf("%d problems", len(problems))
	}
	if !slices.IsSortedFunc(problems, func(a, b schema.Problem) int { return schema.ComparePaths(a.Path, b.Path) }) {
		t.Fatalf("out of order: %v", problems)
	}
	for _, p := range problems {
		text := p.String()
		if !slices.Contains(schema.Codes(), p.Code) || !utf8.ValidString(text) || len(text) > schema.MaxSummary ||
			strings.ContainsFunc(text, func(r rune) bool { return r < ' ' || r == 0x7f || r == 0x2028 || r == 0x202e }) {
			t.Fatalf("bad problem of %d bytes: %q", len(text), text)
		}
	}
}
