package integration

import (
	"bytes"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/yaml"

	"stoic/schema"
	"stoic/test/untyped"
)

// templates reads the valid templates that all trials start from.
func templates(t *testing.T) []any {
	t.Helper()
	text, err := os.ReadFile("testdata/templates.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var all []any
	for i, document := range bytes.Split(text, []byte("\n---\n"))[1:] {
		raw, err := yaml.YAMLToJSON(document)
		if err != nil {
			t.Fatalf("template %d: %v", i, err)
		}
		all = append(all, fromJSON(raw))
	}
	return all
}

// fromJSON decodes as the API machinery does: integers as int64.
func fromJSON(text []byte) any {
	var v map[string]any
	if err := json.Unmarshal(text, &v); err != nil {
		panic(err)
	}
	return v
}

// node is a value in a template.
type node struct {
	path  string
	value any
}

// nodesOf returns v and every node in it, in the order in which untyped.Mutate counts them.
func nodesOf(v any, path string, all []node) []node {
	all = append(all, node{path, v})
	switch v := v.(type) {
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(v)) {
			all = nodesOf(v[key], path+"."+key, all)
		}
	case []any:
		for i := range v {
			all = nodesOf(v[i], fmt.Sprintf("%s[%d]", path, i), all)
		}
	}
	return all
}

// change makes another value of one; fits is false if it is not for such a value.
type change struct {
	name string
	of   func(old any) (value any, fits bool)
}

func changes() []change {
	all := []change{
		put("deleted", untyped.Missing{}),
		ofText("space around", func(s string) any { return " " + s + " " }),
		ofText("in upper case", func(s string) any { return strings.ToUpper(s) }),
		ofText("in lower case", func(s string) any { return strings.ToLower(s) }),
		ofText("with underscores", func(s string) any { return strings.ReplaceAll(s, "-", "_") + "_" }),
		ofText("in a list", func(s string) any { return []any{s} }),
		ofNumber("as text", func(n int64) any { return fmt.Sprint(n) }),
		ofNumber("one less", func(n int64) any { return n - 1 }),
		ofNumber("negated", func(n int64) any { return -n }),
		ofNumber("as a float", func(n int64) any { return float64(n) }),
		ofList("first item instead", func(l []any) any { return l[0] }),
		ofList("first item twice", func(l []any) any { return append(l, l[0]) }),
		{"in a list", func(old any) (any, bool) {
			m, isObject := old.(map[string]any)
			return []any{m}, isObject
		}},
		// The rules of convert are about fields that depend on other fields.
		adding("exec", map[string]any{"command": []any{"true"}}),
		adding("httpGet", map[string]any{"port": int64(80)}),
		adding("secretKeyRef", map[string]any{"name": "s", "key": "k"}),
		adding("configMapRef", map[string]any{"name": "s"}),
		adding("fieldRef", map[string]any{"fieldPath": "metadata.name"}),
		adding("localhostProfile", "a"),
		adding("subPath", "x"),
		adding("tolerationSeconds", int64(3)),
		adding("value", "x"),
		adding("values", []any{"x"}),
		adding("ephemeralContainers", []any{map[string]any{"name": "e", "image": "e"}}),
		adding("name", "x"),
		adding("dnsPolicy", "None"),
	}
	for _, v := range []any{
		nil, "", "x", "X", "  ", "a b", "é", "-", "..", "/x", "0", "-1", "1", "10%", "1.5", "1e3", "1e100", "1e1000", "64Gb", "1 Gi", "10m", "true", "Never", "Always",
		"None", "TCP", "8080", "Exists", "In", "Gt", "Localhost", "../x", "..x", "tensorflow", "tfjob-port", strings.Repeat("a", 16), strings.Repeat("a", 64), strings.Repeat("a", 254), strings.Repeat("0", 63) + "10",
		int64(0), int64(1), int64(-1), int64(65536), int64(644), int64(1 << 31), int64(1<<63 - 1), 1.5, 3.0, 1e3, 1e19, true, false,
		[]any{}, []any{nil}, []any{""}, []any{"x"}, []any{"x", "x"}, []any{map[string]any{}}, []any{int64(1)},
		map[string]any{}, map[string]any{"": "x"}, map[string]any{"x": "y"}, map[string]any{"x": nil}, map[string]any{"x": int64(1)}, map[string]any{"name": "x"},
	} {
		all = append(all, put(string(schema.JSON(v)), v))
	}
	return all
}

func put(name string, v any) change {
	return change{name, func(any) (any, bool) { return v, true }}
}

// adding adds a field to an object that does not have it.
func adding(field string, value any) change {
	return change{"with " + field, func(old any) (any, bool) {
		m, isObject := old.(map[string]any)
		if !isObject || m[field] != nil {
			return nil, false
		}
		return with(m, field, value), true
	}}
}

func ofText(name string, of func(string) any) change {
	return change{name, func(old any) (any, bool) {
		s, isText := old.(string)
		if !isText || s == "" {
			return nil, false
		}
		value := of(s)
		return value, value != any(s)
	}}
}

func ofNumber(name string, of func(int64) any) change {
	return change{name, func(old any) (any, bool) {
		n, isNumber := old.(int64)
		if !isNumber {
			return nil, false
		}
		return of(n), true
	}}
}

func ofList(name string, of func([]any) any) change {
	return change{name, func(old any) (any, bool) {
		l, isList := old.([]any)
		if !isList || len(l) == 0 {
			return nil, false
		}
		return of(l), true
	}}
}

// oddNames returns unusual names of jobs.
func oddNames() []string {
	names := []string{"a", "a-b", "a.b", "a_b", "A", "1a", "1", "-a", "a-", "a b", "é", "a..b", "a--b", "x" + strings.Repeat("-", 20) + "y"}
	for _, n := range []int{50, 53, 54, 55, 56, 62, 63, 64, 253} {
		names = append(names, strings.Repeat("n", n))
	}
	return names
}
