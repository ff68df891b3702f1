package schema

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// SameJSON reports whether encoding/json writes the same value for both. Fields of an object may be in any order, and 1, 1.0 and
// 1e0 are the same number. Null differs from an absent field, and an empty list from null. A value that encoding/json cannot write
// equals nothing, not even itself.
//
// Go values that differ may be the same, such as times in fields that are written in seconds. Equal ones may have different types,
// such as a struct and a map. Integers are compared exactly, at any size, and other numbers as float64, as API servers keep them.
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

// decoded decodes what json.Marshal wrote. Its numbers keep their text.
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

// canonical returns the text that all numbers of equal value share: without an exponent, and an integer without a fraction.
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
