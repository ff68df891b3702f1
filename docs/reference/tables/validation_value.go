package main

import (
	"slices"
	"strings"

	"stoic/schema"
)

// value is a value to put into a field, and its description for readers.
type value struct {
	words string
	json  any
}

// twins are reported in the row of their list.
const twins = "two equal items"

// absent, in place of a value, means that the field is omitted.
type absent struct{}

func plainly(v any) value { return value{code(string(schema.JSON(v))), v} }

// within returns a value in a list or map; if it is long, it is described by the given words.
func within(words string, v any) value {
	if text := string(schema.JSON(v)); len(text) <= 40 {
		words = code(text)
	}
	return value{words, v}
}

// right lists valid values of the form; one of them is valid in any place that needs one.
func (f form) right() []any {
	switch f.word {
	case wordObject, wordMap:
		return []any{map[string]any{}}
	case wordList:
		return []any{[]any{}, []any{f.elem.right()[0]}}
	case "boolean":
		return []any{true}
	case "integer, 32 bits", "integer, 64 bits", "number", "integer or string":
		return []any{int64(1), int64(2)}
	case "quantity":
		return []any{"1"}
	case "time":
		return []any{"2006-01-02T15:04:05Z"}
	case "duration":
		return []any{"1s"}
	case "base64":
		return []any{"eA=="}
	}
	return []any{"x", "y", "/x"}
}

// mistyped lists a value of each JSON type, except those that the form accepts.
func (f form) mistyped() []value {
	var values []value
	if f.word == wordAny {
		return nil
	}
	if !slices.Contains([]string{wordString, "quantity", "integer or string", "time", "duration", "base64"}, f.word) {
		values = append(values, plainly("text"))
	}
	if !slices.Contains([]string{"integer, 32 bits", "integer, 64 bits", "number", "quantity", "integer or string"}, f.word) {
		values = append(values, plainly(int64(1)))
	}
	if f.word != "boolean" {
		values = append(values, plainly(true))
	}
	if f.word != wordList {
		values = append(values, plainly([]any{}))
	}
	if f.word != wordObject && f.word != wordMap {
		values = append(values, plainly(map[string]any{}))
	}
	return values
}

// odd lists values of the right type that a field may reject for another reason, and some that any field accepts. Item is a valid item of
// a list of objects.
func (f form) odd(item any) []value {
	switch f.word {
	case wordString:
		return texts()
	case "quantity":
		return append([]value{plainly("1e1.5"), plainly("64Gb"), plainly(""), plainly("-1")}, numbers()...)
	case "time", "duration", "base64":
		return []value{plainly(""), plainly("x"), plainly("2006-01-02")}
	case "integer, 32 bits", "integer, 64 bits", "number":
		return numbers()
	case "integer or string":
		return append(texts(), numbers()...)
	case wordList:
		return f.lists(item)
	case wordMap:
		return f.maps(item)
	}
	return nil
}

func texts() []value {
	var values []value
	for _, text := range []string{"", "x", "tensorflow", " x ", "A_b", "-x", "1e1.5", "x=y", "é"} {
		values = append(values, plainly(text))
	}
	return append(values, value{"64 letters", strings.Repeat("a", 64)}, value{"254 letters", strings.Repeat("a", 254)})
}

func numbers() []value {
	var values []value
	for _, number := range []any{int64(-1), int64(0), int64(20001), int64(65536), int64(1 << 31), -1e19, 1e19, 1.5} {
		values = append(values, plainly(number))
	}
	return values
}

func (f form) lists(item any) []value {
	values := []value{plainly([]any{}), plainly([]any{nil})}
	if f.elem.object != nil {
		return append(values, value{twins, []any{item, item}}, value{"one item named `x`", []any{item}}, plainly([]any{"text"}))
	}
	for _, v := range append(f.elem.mistyped(), f.elem.odd(nil)...) {
		values = append(values, within(v.words, []any{v.json}))
	}
	right := f.elem.right()[0]
	return append(values, plainly([]any{right, right}))
}

// maps puts wrong values under a valid key, and valid values under wrong keys.
func (f form) maps(item any) []value {
	key, right := "x", item
	if f.elem.object == nil {
		right = f.elem.right()[0]
	}
	switch {
	case f.elem.word == "quantity":
		key = "cpu"
	case f.elem.object != nil:
		key = "Worker"
	}
	values := []value{plainly(map[string]any{}), plainly(map[string]any{key: nil})}
	for _, v := range append(f.elem.mistyped(), f.elem.odd(nil)...) {
		values = append(values, within(v.words, map[string]any{key: v.json}))
	}
	for _, k := range append(texts(), plainly("gpu")) {
		name, _ := k.json.(string)
		values = append(values, value{"key " + k.words, map[string]any{name: right}})
	}
	if f.elem.object != nil {
		return values
	}
	return append(values, value{"300 KiB", map[string]any{"x": strings.Repeat("a", 300<<10)}})
}
