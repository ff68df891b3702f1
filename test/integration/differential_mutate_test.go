package integration

import (
	"bytes"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/yaml"

	"stoic/training"
	"stoic/training/kinds"
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

// place is the position of a node: keys and indices from the top. It has at least one.
type place []any

func (p place) String() string {
	var b strings.Builder
	for _, step := range p {
		if i, ok := step.(int); ok {
			fmt.Fprintf(&b, "[%d]", i)
		} else {
			fmt.Fprintf(&b, ".%v", step)
		}
	}
	return strings.TrimPrefix(b.String(), ".")
}

// places returns every node below v, in a fixed order.
func places(v any, at place, all []place) []place {
	if len(at) > 0 {
		all = append(all, slices.Clone(at))
	}
	switch v := v.(type) {
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(v)) {
			all = places(v[key], append(at, key), all)
		}
	case []any:
		for i := range v {
			all = places(v[i], append(at, i), all)
		}
	}
	return all
}

// mutator changes a node; ok is false if the change does not fit.
type mutator struct {
	name   string
	change func(old any) (_ any, ok bool)
}

// gone replaces a node that is to be removed, again one that is to be duplicated, and renamed one whose key changes.
type (
	gone    struct{}
	again   struct{}
	renamed struct{ key func(string) string }
)

func mutators() []mutator {
	all := []mutator{
		put("deleted", gone{}), put("twice", again{}),
		put("key with x", renamed{func(k string) string { return k + "x" }}),
		put("key in upper case", renamed{strings.ToUpper}),
		put("key with a space", renamed{func(k string) string { return k + " " }}),
		{"space around", text(func(s string) any { return " " + s + " " })},
		{"in upper case", text(func(s string) any { return strings.ToUpper(s) })},
		{"in lower case", text(func(s string) any { return strings.ToLower(s) })},
		{"with underscores", text(func(s string) any { return strings.ReplaceAll(s, "-", "_") + "_" })},
		{"in a list", text(func(s string) any { return []any{s} })},
		{"as a number", text(func(s string) any {
			if n, err := strconv.ParseInt(s, 10, 64); err == nil {
				return n
			}
			return nil
		})},
		{"as text", func(old any) (any, bool) {
			switch old.(type) {
			case int64, float64, bool:
				return fmt.Sprint(old), true
			}
			return nil, false
		}},
		{"one less", integral(func(n int64) any { return n - 1 })},
		{"negated", integral(func(n int64) any { return -n })},
		{"as a float", integral(func(n int64) any { return float64(n) })},
		{"first item for list", func(old any) (any, bool) {
			l, ok := old.([]any)
			if !ok || len(l) == 0 {
				return nil, false
			}
			return l[0], true
		}},
		{"in a list", func(old any) (any, bool) { m, ok := old.(map[string]any); return []any{m}, ok }},
		// The rules of convert/rules.go are about fields that depend on other fields.
		beside("exec", map[string]any{"command": []any{"true"}}), beside("httpGet", map[string]any{"port": int64(80)}),
		beside("secretKeyRef", map[string]any{"name": "s", "key": "k"}), beside("configMapRef", map[string]any{"name": "s"}),
		beside("fieldRef", map[string]any{"fieldPath": "metadata.name"}), beside("localhostProfile", "a"), beside("subPath", "x"),
		beside("tolerationSeconds", int64(3)), beside("value", "x"), beside("values", []any{"x"}), beside("ephemeralContainers", []any{map[string]any{"name": "e", "image": "e"}}),
		beside("name", "x"), beside("dnsPolicy", "None"),
	}
	for _, v := range []any{
		nil, "", "x", "X", "  ", "a b", "é", "-", "..", "/x", "0", "-1", "1", "10%", "1.5", "1e3", "1e100", "1e1000", "64Gb", "1 Gi", "10m", "true", "Never", "Always",
		"None", "TCP", "8080", "Exists", "In", "Gt", "Localhost", "../x", "..x", "tensorflow", "tfjob-port", strings.Repeat("a", 16), strings.Repeat("a", 64), strings.Repeat("a", 254), strings.Repeat("0", 63) + "10",
		int64(0), int64(1), int64(-1), int64(65536), int64(644), int64(1 << 31), int64(1<<63 - 1), 1.5, 3.0, 1e3, 1e19, true, false,
		[]any{}, []any{nil}, []any{""}, []any{"x"}, []any{"x", "x"}, []any{map[string]any{}}, []any{int64(1)},
		map[string]any{}, map[string]any{"": "x"}, map[string]any{"x": "y"}, map[string]any{"x": nil}, map[string]any{"x": int64(1)}, map[string]any{"name": "x"},
	} {
		all = append(all, put(string(bytes.TrimSpace(asJSON(v))), v))
	}
	return all
}

func put(name string, v any) mutator {
	return mutator{name, func(any) (any, bool) { return v, true }}
}

// beside adds another field to an object.
func beside(key string, value any) mutator {
	return mutator{"with " + key, func(old any) (any, bool) {
		m, ok := old.(map[string]any)
		if !ok || m[key] != nil {
			return nil, false
		}
		m = maps.Clone(m)
		m[key] = value
		return m, true
	}}
}

func text(change func(string) any) func(any) (any, bool) {
	return func(old any) (any, bool) {
		s, ok := old.(string)
		if !ok || s == "" {
			return nil, false
		}
		v := change(s)
		return v, v != nil && v != s
	}
}

func integral(change func(int64) any) func(any) (any, bool) {
	return func(old any) (any, bool) {
		n, ok := old.(int64)
		if !ok {
			return nil, false
		}
		return change(n), true
	}
}

// spoil changes one node of v in place, unless the mutator does not fit there.
func spoil(v any, at place, m mutator) (_ any, done bool) {
	step, rest := at[0], at[1:]
	switch v := v.(type) {
	case map[string]any:
		key, _ := step.(string)
		old, ok := v[key]
		if !ok {
			return v, false
		}
		if len(rest) > 0 {
			v[key], done = spoil(old, rest, m)
			return v, done
		}
		return v, spoilMember(v, key, m)
	case []any:
		i, ok := step.(int)
		if !ok || i >= len(v) {
			return v, false
		}
		if len(rest) > 0 {
			v[i], done = spoil(v[i], rest, m)
			return v, done
		}
		return spoilItem(v, i, m)
	}
	return v, false
}

func spoilMember(v map[string]any, key string, m mutator) bool {
	value, ok := m.change(v[key])
	if !ok {
		return false
	}
	switch value := value.(type) {
	case gone:
		delete(v, key)
	case again:
		return false
	case renamed:
		other := value.key(key)
		if other == key {
			return false
		}
		v[other] = v[key]
		delete(v, key)
	default:
		v[key] = value
	}
	return true
}

func spoilItem(v []any, i int, m mutator) (any, bool) {
	value, ok := m.change(v[i])
	if !ok {
		return v, false
	}
	switch value.(type) {
	case gone:
		return slices.Delete(slices.Clone(v), i, i+1), true
	case again:
		return append(slices.Clone(v), v[i]), true
	case renamed:
		return v, false
	}
	v[i] = value
	return v, true
}

// drawTrials returns malformed templates: most with one change, some with two. A negative number requests every single change of
// every node once, and as many pairs of changes.
func drawTrials(bases []any, n int, random *rand.Rand) []trial {
	type change struct {
		base int
		at   place
		mutator
	}
	var all []change
	for base, template := range bases {
		for _, at := range places(template, nil, nil) {
			for _, m := range mutators() {
				all = append(all, change{base, at, m})
			}
		}
	}
	random.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	limit := len(all) * 2
	if n >= 0 {
		limit = n
	}
	var trials []trial
	for i := 0; i < limit; i++ {
		changes := []change{all[i%len(all)]}
		if i >= len(all) || n >= 0 && i%5 == 4 {
			other := all[random.IntN(len(all))]
			other.base = changes[0].base
			changes = append(changes, other)
		}
		c := trial{base: changes[0].base, template: fromJSON(asJSON(bases[changes[0].base]))}
		for _, x := range changes {
			var done bool
			if c.template, done = spoil(c.template, x.at, x.mutator); done {
				c.changes = append(c.changes, x.at.String()+" "+x.name)
			}
		}
		if len(c.changes) > 0 {
			// Numbers get the decoder's types here as well, for example for 3.0.
			c.template = fromJSON(asJSON(c.template))
			all := kinds.Served()
			c = c.as(all[len(trials)%len(all)])
			c.launcher = len(trials)/len(all)%2 == 0 && slices.ContainsFunc(c.kind.ReplicaTypes, func(r training.KnownReplicaType) bool { return r.Batch })
			trials = append(trials, c)
		}
	}
	return trials
}

// oddNames returns unusual names of jobs.
func oddNames() []string {
	names := []string{"a", "a-b", "a.b", "a_b", "A", "1a", "1", "-a", "a-", "a b", "é", "a..b", "a--b", "x" + strings.Repeat("-", 20) + "y"}
	for _, n := range []int{50, 53, 54, 55, 56, 62, 63, 64, 253} {
		names = append(names, strings.Repeat("n", n))
	}
	return names
}
