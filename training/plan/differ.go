package plan

import (
	"bytes"
	"encoding/json"
	"slices"
	"strconv"

	"stoic/schema"
	"stoic/training"
)

// differences returns a merge patch of the members of want that differ in the stored spec. Members that are only stored
// are no difference: they are defaults of the API server, or another client set them.
//
//	wanted        stored                   difference
//	null          nothing, or empty        no
//	null          anything else            yes
//	"1000m"       "1", in a field of       no
//	              quantities
//	{"a": 1}      {"a": 1, "b": 2}         yes: inside a wanted value there are no defaults
//	any           no JSON, no object       as if nothing were stored
func differences(want map[string]json.RawMessage, stored []byte) map[string]json.RawMessage {
	spec := object(stored)
	found := map[string]json.RawMessage{}
	for key, value := range want {
		if !alike(read(value), read(spec[key]), meansQuantity(key)) {
			found[key] = replacing(spec[key], value)
		}
	}
	return found
}

// contentDifferences returns a merge patch of the members other than the spec that differ in the stored object. They are
// compared in their cached form. Members that are only stored are no difference.
func contentDifferences(form training.Form, want map[string]json.RawMessage, stored []byte) map[string]json.RawMessage {
	wanted := make(map[string]any, len(want))
	for member, value := range want {
		wanted[member] = read(value)
	}
	found, has := map[string]json.RawMessage{}, object(stored)
	for member, kept := range form.Kept(wanted) {
		switch kept := kept.(type) {
		case string:
			if textAt(stored, member) != kept {
				found[member] = want[member]
			}
		case []string: // keys
			var keys []string
			_ = json.Unmarshal(has[member], &keys) // what is no list has no keys
			if slices.ContainsFunc(kept, func(key string) bool { return !slices.Contains(keys, key) }) {
				found[member] = want[member]
			}
		case map[string]any: // hashes by key
			values, differ := object(want[member]), map[string]json.RawMessage{}
			for key, hash := range kept {
				if textAt(has[member], key) != hash {
					differ[key] = values[key]
				}
			}
			if len(differ) > 0 {
				found[member] = schema.JSON(differ)
			}
		}
	}
	return found
}

// replacing returns a merge patch that replaces a stored value. Members of a stored object that the new one lacks become
// null, because a merge patch keeps members that it does not name.
func replacing(stored, value json.RawMessage) json.RawMessage {
	var wanted map[string]json.RawMessage
	if json.Unmarshal(value, &wanted) != nil || wanted == nil {
		return value
	}
	for key, old := range object(stored) {
		if mine, both := wanted[key]; both {
			wanted[key] = replacing(old, mine)
		} else {
			wanted[key] = json.RawMessage("null")
		}
	}
	return schema.JSON(wanted)
}

// read decodes JSON and keeps numbers as they are written; invalid JSON is nil.
func read(text json.RawMessage) any {
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	var value any
	if decoder.Decode(&value) != nil {
		return nil
	}
	return value
}

// meansQuantity reports whether numbers and strings under a key are compared as quantities.
func meansQuantity(key string) bool {
	return key == "minResources" || key == "value" || key == "averageValue"
}

// alike reports whether two values mean the same. An empty value equals an absent one: API servers omit empty values, and
// so do merge patches of objects.
func alike(a, b any, quantity bool) bool {
	if empty(a) || empty(b) {
		return empty(a) && empty(b)
	}
	switch a := a.(type) {
	case map[string]any:
		b, ok := b.(map[string]any)
		return ok && covers(a, b, quantity) && covers(b, a, quantity)
	case []any:
		b, ok := b.([]any)
		if !ok || len(a) != len(b) {
			return false
		}
		for i := range a {
			if !alike(a[i], b[i], quantity) {
				return false
			}
		}
		return true
	}
	return a == b || sameNumber(a, b) || quantity && sameQuantity(a, b)
}

// covers reports whether all members of a are alike in b.
func covers(a, b map[string]any, quantity bool) bool {
	for key, value := range a {
		if !alike(value, b[key], quantity || meansQuantity(key)) {
			return false
		}
	}
	return true
}

func empty(value any) bool {
	switch v := value.(type) {
	case nil:
		return true
	case bool:
		return !v
	case string:
		return v == ""
	case json.Number:
		n, err := strconv.ParseFloat(string(v), 64)
		return err == nil && n == 0
	case []any:
		return len(v) == 0
	case map[string]any:
		for _, member := range v {
			if !empty(member) {
				return false
			}
		}
		return true
	}
	return false
}

func sameNumber(a, b any) bool {
	n, ok1 := a.(json.Number)
	m, ok2 := b.(json.Number)
	if !ok1 || !ok2 {
		return false
	}
	x, err1 := strconv.ParseFloat(string(n), 64)
	y, err2 := strconv.ParseFloat(string(m), 64)
	return err1 == nil && err2 == nil && x == y
}

// sameQuantity compares "1", 1, "1000m" by value.
func sameQuantity(a, b any) bool {
	n, ok1 := written(a)
	m, ok2 := written(b)
	if !ok1 || !ok2 {
		return false
	}
	x, ok1 := schema.ParseQuantity(n)
	y, ok2 := schema.ParseQuantity(m)
	return ok1 && ok2 && x.Cmp(y) == 0
}

func written(value any) (string, bool) {
	switch v := value.(type) {
	case string:
		return v, true
	case json.Number:
		return string(v), true
	}
	return "", false
}
