package mutation

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

const (
	many     = 10_000  // items
	megabyte = 1 << 20 // bytes; an API server takes one and a half
	large    = 100_000 // bytes
)

// value is a value that may be put at any place.
type value struct {
	what  string
	is    any
	large bool
}

// values returns values of every type. Some are valid in some places, which the operator must find out.
func values() []value {
	all := []value{
		{what: "null", is: nil}, {what: "true", is: true}, {what: "false", is: false},
		{what: "an empty list", is: []any{}}, {what: "a list of null", is: []any{nil}}, {what: "a list of a text", is: []any{"x"}},
		{what: "a list of a number", is: []any{int64(7)}}, {what: "a list of an object", is: []any{map[string]any{}}}, {what: "a list of a list", is: []any{[]any{}}},
		{what: "an empty object", is: map[string]any{}}, {what: "an object with an unknown field", is: map[string]any{"unheardOf": int64(1)}},
		{what: "an object with a field without a name", is: map[string]any{"": "x"}}, {what: "an object with a null", is: map[string]any{"name": nil}},
		{what: "the number 1.5", is: 1.5}, {what: "the number -0.5", is: -0.5}, {what: "the number 1e300", is: json.Number("1e300")},
		{what: "the number 2^63", is: json.Number("9223372036854775808")}, {what: "a number beyond all floats", is: json.Number("1e400")},
		{what: "the number 1.0", is: json.Number("1.0")}, {what: "the number 1e3", is: json.Number("1e3")},
		{what: "a text of a surrogate alone", is: json.RawMessage(`"\ud800"`)}, {what: "a text that is no UTF-8", is: json.RawMessage("\"a\xff\"")},
		{what: "a text of 100 kB", is: strings.Repeat("x", large), large: true}, {what: "a text of 1 MB", is: strings.Repeat("y", megabyte), large: true},
		{what: "a list of 10,000 texts", is: slices.Repeat([]any{"x"}, many)}, {what: "a list of 10,000 nulls", is: slices.Repeat([]any{nil}, many)},
		{what: "an object of 10,000 fields", is: fields(many), large: true},
		{what: "lists in each other, 50 deep", is: nested(50)}, {what: "lists in each other, 5,000 deep", is: nested(5000)},
		{what: "objects in each other, 5,000 deep", is: deep(5000)},
	}
	for _, n := range []int64{0, 1, -1, 7, 65536, 1 << 31, 4294967297, 10_000_000_000, 1<<63 - 1, -1 << 63} {
		all = append(all, value{what: fmt.Sprintf("the number %d", n), is: n})
	}
	for _, text := range []string{"", " ", "x", "X", "7", "-1", "true", "null", "x y", "x_y", "../x", "/x", "x.y", "é", "🙂", "x\x00y", "x\ny", "\x1b[31mx", "\u202ex", "\ufeffx", "\u200b",
		"1e1.5", "64Gb", "1e100", "0x1f", "1_000", "NaN", "10%", "2199-01-01T00:00:00Z", "yesterday", "{{ .Values.x }}", "$(X)", "*", strings.Repeat("a", 64), strings.Repeat("a", 254)} {
		all = append(all, value{what: "the text " + shown(text), is: text})
	}
	return all
}

// shown returns a text as it is in the name of a mutation.
func shown(text string) string {
	if len(text) > 40 {
		return fmt.Sprintf("of %d bytes", len(text))
	}
	return fmt.Sprintf("%+q", text)
}

// capital returns a text with an upper case first letter.
func capital(text string) string {
	if text == "" {
		return ""
	}
	return strings.ToUpper(text[:1]) + text[1:]
}

func fields(n int) map[string]any {
	all := map[string]any{}
	for i := range n {
		all[fmt.Sprintf("field-%d", i)] = int64(i)
	}
	return all
}

func nested(depth int) (v any) {
	for range depth {
		v = []any{v}
	}
	return v
}

func deep(depth int) any {
	v := map[string]any{}
	for range depth {
		v = map[string]any{"x": v}
	}
	return v
}

// of returns the mutations of one place: every value, removal, and variations of the old value.
func of(p Path, old any, schema *Schema, values []value) (all []Mutation) {
	add := func(what string, change func(holder, step any) any) *Mutation {
		all = append(all, Mutation{Path: p, What: what, change: change})
		return &all[len(all)-1]
	}
	here := declared(schema, p)
	for _, v := range values {
		if same(v.is, old) {
			continue
		}
		m := add(v.what, put(v.is))
		m.Contradicts, m.Large = contradicts(here, v.is), v.large
	}
	add("absent", remove)
	switch old := old.(type) {
	case string:
		for _, other := range []string{strings.ToUpper(old), strings.ToLower(old), capital(old), " " + old, old + " ", old + "x"} {
			if other != old {
				add("the text "+shown(other), put(other))
			}
		}
		m := add("its text in a list", put([]any{old}))
		m.Contradicts = contradicts(here, []any{old})
	case int64:
		m := add("its number as a text", put(fmt.Sprint(old)))
		m.Contradicts = contradicts(here, "7")
		add("its number negated", put(-old))
	case bool:
		m := add("its truth as a text", put(fmt.Sprint(old)))
		m.Contradicts = contradicts(here, "true")
	case []any:
		if len(old) > 0 {
			add("its first item twice", put(append([]any{old[0]}, old...)))
			m := add("its first item alone", put(old[0]))
			m.Contradicts = contradicts(here, old[0])
			n := min(many, megabyte/max(1, size(old[0])))
			m = add("its first item as often as there is room", put(slices.Repeat([]any{old[0]}, n)))
			m.Large = n*size(old[0]) > large
		}
	case map[string]any:
		m := add("its object in a list", put([]any{old}))
		m.Contradicts = contradicts(here, []any{old})
		if _, known := old["unheardOf"]; !known {
			other := maps.Clone(old)
			other["unheardOf"] = "x"
			add("an unknown field beside", put(other))
		}
	}
	if key, is := p[len(p)-1].(string); is && len(p) > 1 {
		for _, to := range []string{strings.ToUpper(key), strings.ToLower(key), capital(key), key + "s", key + " ", "x-" + key, ""} {
			if to != key {
				add("its name is "+shown(to), rename(to)).renamed = to
			}
		}
	}
	return all
}

// beside returns the mutations of fields that the schema of an object declares and the object lacks.
func beside(p Path, old any, schema *Schema, part Part, values []value) (all []Mutation) {
	present, is := old.(map[string]any)
	here := declared(schema, p)
	if !is || here == nil {
		return nil
	}
	for _, name := range slices.Sorted(maps.Keys(here.Properties)) {
		if _, there := present[name]; there {
			continue
		}
		for _, m := range of(p.child(name), nil, schema, values) {
			if m.What == "absent" || m.renamed != "" {
				continue
			}
			if m.Part = part; part == Present {
				m.Part = Absent
			}
			all = append(all, m)
		}
	}
	return all
}

// same reports whether a value equals the old one, if that is neither list nor object.
func same(v, old any) bool {
	switch old := old.(type) {
	case string:
		text, is := v.(string)
		return is && text == old
	case int64, float64, bool:
		if number, is := v.(json.Number); is {
			v = json.RawMessage(number) // as it is written
		}
		a, _ := json.Marshal(v) // no value is equal to one that cannot be encoded
		b, _ := json.Marshal(old)
		return size(v) < 100 && bytes.Equal(a, b)
	}
	return false
}

func size(v any) int {
	text, _ := json.Marshal(v) // made of JSON, or it has no size
	return len(text)
}
