package mutation

import (
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// Path is a place in an object: keys of objects (string) and indices of lists (int).
type Path []any

// String formats the path as kubectl does: spec.containers[0].limits["nvidia.com/gpu"].
func (p Path) String() string {
	var b strings.Builder
	for _, step := range p {
		switch step := step.(type) {
		case int:
			b.WriteString("[" + strconv.Itoa(step) + "]")
		case string:
			if !plain(step) {
				text, _ := json.Marshal(step) // a string
				b.WriteString("[" + string(text) + "]")
				continue
			}
			if b.Len() > 0 {
				b.WriteByte('.')
			}
			b.WriteString(step)
		}
	}
	return b.String()
}

// plain reports whether a key needs no quotes in a path.
func plain(key string) bool {
	for i, c := range key {
		letter := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '_'
		if !letter && (i == 0 || c != '-' && (c < '0' || c > '9')) {
			return false
		}
	}
	return key != "" && len(key) <= 60
}

// Related reports whether one of two paths leads to the other, as texts.
func Related(a, b string) bool {
	if len(a) > len(b) {
		a, b = b, a
	}
	return strings.HasPrefix(b, a) && (len(a) == len(b) || a == "" || b[len(a)] == '.' || b[len(a)] == '[')
}

func (p Path) child(step any) Path { return append(slices.Clone(p), step) }

// at returns the value at a path; ok is false if there is none.
func at(v any, p Path) (_ any, ok bool) {
	for _, step := range p {
		switch in := v.(type) {
		case map[string]any:
			key, _ := step.(string)
			if v, ok = in[key]; !ok {
				return nil, false
			}
		case []any:
			i, is := step.(int)
			if !is || i >= len(in) {
				return nil, false
			}
			v = in[i]
		default:
			return nil, false
		}
	}
	return v, true
}

// with returns v with a change of the holder of the path's last step. The result shares with v what is not on the path.
func with(v any, p Path, change func(holder, step any) any) any {
	if len(p) == 1 {
		return change(v, p[0])
	}
	switch in := v.(type) {
	case map[string]any:
		key, _ := p[0].(string)
		out := maps.Clone(in)
		out[key] = with(in[key], p[1:], change)
		return out
	case []any:
		i, _ := p[0].(int)
		out := slices.Clone(in)
		out[i] = with(in[i], p[1:], change)
		return out
	}
	return v
}

// walk calls visit at every place below v, in order.
func walk(v any, p Path, visit func(Path, any)) {
	if len(p) > 0 {
		visit(p, v)
	}
	switch v := v.(type) {
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(v)) {
			walk(v[key], p.child(key), visit)
		}
	case []any:
		for i := range v {
			walk(v[i], p.child(i), visit)
		}
	}
}
