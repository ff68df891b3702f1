package mutation

import (
	"cmp"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
)

// Schema is the schema of a CRD as it is shipped.
type Schema = apiextensionsv1.JSONSchemaProps

// Mutation is one change of one place of a valid object.
type Mutation struct {
	// Path of the place, as kubectl writes it: spec.containers[0].image.
	Path string
	// Part is the field of the object that it is in: spec, status or metadata. A sample has as many of each, if there are as many.
	Part string
	// What is the new value, in a few words that are unique for the path.
	What string
	// Contradicts: the schema declares the type of the place, and the new value has another.
	Contradicts bool
	steps       []any // keys of objects (string) and indices of lists (int)
	value       any
	isAbsent    bool   // the place is removed
	renamed     string // the field gets this name; "": it has none
}

// Name returns a name that is unique among the mutations of an object: "spec.target: the number 7".
func (m Mutation) Name() string { return m.Path + ": " + m.What }

// Apply returns the object with the change in it. The argument is not changed; both share what is not on the path.
func (m Mutation) Apply(object map[string]any) map[string]any {
	changed, _ := m.apply(object, m.steps).(map[string]any)
	return changed
}

// apply returns a copy of what holds the place. Missing objects along the path are made.
func (m Mutation) apply(holder any, steps []any) any {
	if len(steps) == 0 {
		return m.value
	}
	if i, isIndex := steps[0].(int); isIndex {
		list, _ := holder.([]any)
		copied := slices.Clone(list)
		if len(steps) == 1 && m.isAbsent {
			return slices.Delete(copied, i, i+1)
		}
		copied[i] = m.apply(list[i], steps[1:])
		return copied
	}
	key := fmt.Sprint(steps[0])
	object, _ := holder.(map[string]any)
	copied := maps.Clone(object)
	switch {
	case copied == nil:
		copied = map[string]any{}
	case len(steps) == 1 && m.renamed != "":
		copied[m.renamed] = copied[key]
	}
	if len(steps) == 1 && m.isAbsent {
		delete(copied, key)
		return copied
	}
	copied[key] = m.apply(object[key], steps[1:])
	return copied
}

type value struct {
	what string
	is   any
}

// values returns values of every type. Some are valid in some places, which the operator must find out.
func values() []value {
	all := []value{
		{"null", nil}, {"true", true}, {"an empty list", []any{}}, {"a list of null", []any{nil}}, {"a list of a text", []any{"x"}}, {"a list of a number", []any{int64(7)}},
		{"a list of a list", []any{[]any{}}}, {"a list of an object", []any{map[string]any{}}}, {"a list of 10,000 texts", slices.Repeat([]any{"x"}, 10_000)},
		{"an empty object", map[string]any{}}, {"an object with an unknown field", map[string]any{"unheardOf": int64(1)}}, {"an object with a null", map[string]any{"name": nil}},
		{"an object with a field without a name", map[string]any{"": "x"}}, {"the number 1.5", 1.5}, {"the number 1e300", json.Number("1e300")},
		{"the number 2^63", json.Number("9223372036854775808")}, {"the number 1e3", json.Number("1e3")}, {"a text of 100 kB", strings.Repeat("x", 100_000)},
	}
	nested := any("x")
	for range 50 {
		nested = []any{nested}
	}
	all = append(all, value{"lists in each other, 50 deep", nested})
	for _, n := range []int64{0, 1, -1, 7, 1 << 31, 4294967297, 1<<63 - 1, -1 << 63} {
		all = append(all, value{fmt.Sprintf("the number %d", n), n})
	}
	for _, text := range []string{"", " ", "x", "X", "7", "-1", "true", "x y", "../x", "x.y", "é", "x\x00y", "x\ny", "\x1b[31mx", "\u202ex", "1e1.5", "64Gb", "1e100", "0x1f", "NaN", "10%",
		"2199-01-01T00:00:00Z", "{{ .Values.x }}", "$(X)", "*", strings.Repeat("a", 64), strings.Repeat("a", 254)} {
		what := fmt.Sprintf("the text %+q", text)
		if len(text) > 40 {
			what = fmt.Sprintf("a text of %d bytes", len(text))
		}
		all = append(all, value{what, text})
	}
	return all
}

// All returns all mutations of a valid object: of its spec, with the missing fields that a schema declares (nil: none is known); of its
// metadata, what API servers accept; and of its status, if it has one.
func All(object map[string]any, schema *Schema) []Mutation {
	l := &lister{values: values()}
	for _, part := range []string{"spec", "status"} {
		if v, has := object[part]; has {
			l.part = part
			l.walk([]any{part}, v, declared(schema, part))
		}
	}
	l.part = "metadata"
	for _, field := range []string{"labels", "annotations"} {
		for _, key := range []string{"example.com/x", "training.kubeflow.org/job-name", "training.kubeflow.org/ledger", "test.example.com/operator", "kueue.x-k8s.io/queue-name"} {
			for _, v := range l.values {
				if text, isText := v.is.(string); isText && (field == "annotations" || len(text) < 64) {
					l.add([]any{"metadata", field, key}, v.what, v.is)
				}
			}
		}
	}
	owner := map[string]any{"apiVersion": "nobody.example.com/v1", "kind": "Nobody", "name": "nobody", "uid": "7b0f2d34-0000-0000-0000-000000000000", "blockOwnerDeletion": true}
	l.add([]any{"metadata", "ownerReferences"}, "an owner that does not exist, of no kind", []any{owner})
	for _, finalizer := range []string{"example.com/hold", "orphan", "foregroundDeletion"} {
		l.add([]any{"metadata", "finalizers"}, finalizer, []any{finalizer})
	}
	return l.all
}

// lister lists mutations, each name once.
type lister struct {
	values []value
	part   string
	all    []Mutation
}

func (l *lister) add(steps []any, what string, value any) *Mutation {
	l.all = append(l.all, Mutation{Path: pathOf(steps), Part: l.part, What: what, steps: slices.Clone(steps), value: value})
	return &l.all[len(l.all)-1]
}

// walk lists the mutations of a place, and of all below it.
func (l *lister) walk(steps []any, old any, here *Schema) {
	l.replace(steps, here)
	key, isField := steps[len(steps)-1].(string)
	l.add(steps, "absent", nil).isAbsent = true
	if isField && len(steps) > 1 {
		for _, to := range []string{strings.ToUpper(key), key + "s", key + " "} {
			m := l.add(steps, fmt.Sprintf("its name is %q", to), nil)
			m.isAbsent = true
			m.renamed = to
		}
	}
	switch old := old.(type) {
	case string:
		l.add(steps, "its text and a blank", old+" ")
		l.add(steps, "its text in upper case", strings.ToUpper(old))
	case int64:
		l.add(steps, "its number as a text", fmt.Sprint(old)).Contradicts = contradicts(here, "")
	case []any:
		l.add(steps, "its items twice", append(slices.Clone(old), old...))
		for i := range old {
			l.walk(append(steps, i), old[i], declared(here, i))
		}
	case map[string]any:
		l.add(append(steps, "unheardOf"), "an unknown field", "x")
		for _, name := range slices.Sorted(maps.Keys(old)) {
			l.walk(append(steps, name), old[name], declared(here, name))
		}
		if here == nil {
			return
		}
		for _, name := range slices.Sorted(maps.Keys(here.Properties)) {
			if _, has := old[name]; !has {
				l.replace(append(steps, name), declared(here, name))
			}
		}
	}
}

// replace lists every value at a place.
func (l *lister) replace(steps []any, here *Schema) {
	for _, v := range l.values {
		l.add(steps, v.what, v.is).Contradicts = contradicts(here, v.is)
	}
}

func pathOf(steps []any) string {
	var b strings.Builder
	for _, step := range steps {
		switch step := step.(type) {
		case int:
			fmt.Fprintf(&b, "[%d]", step)
		case string:
			if strings.ContainsAny(step, "./ ") || step == "" {
				b.WriteString("[" + strconv.Quote(step) + "]")
				continue
			}
			b.WriteString("." + step)
		}
	}
	return strings.TrimPrefix(b.String(), ".")
}

// declared returns the schema of a field or an item; nil if none is declared.
func declared(s *Schema, step any) *Schema {
	if s == nil {
		return nil
	}
	key, isField := step.(string)
	if !isField {
		if s.Items == nil {
			return nil
		}
		return s.Items.Schema
	}
	if field, isKnown := s.Properties[key]; isKnown {
		return &field
	}
	if s.AdditionalProperties != nil {
		return s.AdditionalProperties.Schema
	}
	return nil
}

// contradicts reports whether the schema declares a type that no value of v's type has. null counts as a missing field, an empty
// object, too; any number may be a quantity.
func contradicts(s *Schema, v any) bool {
	if s == nil || s.Type == "" || s.XIntOrString {
		return false
	}
	switch v := v.(type) {
	case bool:
		return s.Type != "boolean"
	case string:
		return s.Type != "string"
	case int64:
		return s.Type != "integer" && s.Type != "number"
	case []any:
		return s.Type != "array"
	case map[string]any:
		return len(v) > 0 && s.Type != "object"
	}
	return false
}

// Sample draws n mutations, as many of each part as possible. Each has a place in the order that depends only on the seed and its
// name: if there is one mutation more or less, no other draw changes.
func Sample(all []Mutation, n int, seed uint64) (drawn []Mutation) {
	place := map[string]uint64{}
	for _, m := range all {
		hash := fnv.New64a()
		fmt.Fprint(hash, seed, " ", m.Name())
		place[m.Name()] = rand.New(rand.NewPCG(hash.Sum64(), seed)).Uint64() // names that differ in their last letter have similar hashes
	}
	parts := map[string][]Mutation{}
	for _, m := range slices.SortedFunc(slices.Values(all), func(a, b Mutation) int { return cmp.Compare(place[a.Name()], place[b.Name()]) }) {
		parts[m.Part] = append(parts[m.Part], m)
	}
	for len(drawn) < min(n, len(all)) {
		for _, part := range []string{"spec", "spec", "status", "metadata"} {
			if rest := parts[part]; len(rest) > 0 && len(drawn) < n {
				drawn = append(drawn, rest[0])
				parts[part] = rest[1:]
			}
		}
	}
	return drawn
}
