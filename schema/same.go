package schema

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// SameJSON says whether encoding/json writes the same value for both: an object may have its fields in any order, and 1, 1.0 and 1e0
// are one number. Null is not the same as an absent field, and an empty list is not null. What encoding/json cannot write is the same as
// nothing, not even as itself.
//
// Go values that differ may be the same, as times in fields that are written in seconds, and equal ones have other types, as a struct
// and a map. Integers are compared exactly, of any size, and other numbers as floats of 64 bits, as API servers keep them.
func SameJSON(a, b any) bool {
	x, err := json.Marshal(a)
	if err != nil {
		return false
	}
	y, err := json.Marshal(b)
	if err != nil {
		return false
	}
	return bytes.Equal(x, y) || sameValue(decoded(x), decoded(y))
}

// decoded is JSON that was written just now; its numbers are kept as they are written.
func decoded(text []byte) (value any) {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	_ = d.Decode(&value) // json.Marshal has checked it
	return value
}

func sameValue(a, b any) bool {
	switch a := a.(type) {
	case map[string]any:
		b, ok := b.(map[string]any)
		return ok && maps.EqualFunc(a, b, sameValue)
	case []any:
		b, ok := b.([]any)
		return ok && slices.EqualFunc(a, b, sameValue)
	case json.Number:
		b, ok := b.(json.Number)
		return ok && (a == b || canonical(a) == canonical(b))
	}
	return a == b
}

// canonical is a number as all that have its value are written: without an exponent, and an integer without a fraction.
func canonical(n json.Number) string {
	text := string(n)
	if strings.ContainsAny(text, ".eE") {
		f, err := n.Float64()
		if err != nil { // beyond float64
			return text
		}
		text = strconv.FormatFloat(f, 'f', -1, 64)
	}
	if text == "-0" {
		return "0"
	}
	return text
}
