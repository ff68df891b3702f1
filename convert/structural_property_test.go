package convert

import (
	"math"
	"reflect"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/json"
	"pgregory.net/rapid"
	"sigs.k8s.io/yaml"

	"stoic/schema"
	"stoic/test/untyped"
)

// TestStructuralLikeAPIServer: for any schema and any object, the API server's code and ours agree whether the object is accepted,
// and whether fields are dropped.
func TestStructuralLikeAPIServer(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) { comparedWithAPIServer(t) })
}

// TestStructuralDrawsBoth: enough of the drawn objects are accepted, and enough are refused, for the comparison to mean something.
// The draws are the same each time, because a few random schemas may refuse nearly all objects.
func TestStructuralDrawsBoth(t *testing.T) {
	taken, all := 0, 0
	draws := rapid.Custom(func(t *rapid.T) int { return comparedWithAPIServer(t) })
	for seed := range 100 {
		taken, all = taken+draws.Example(seed), all+objectsOfSchema
	}
	t.Logf("%d of %d objects taken", taken, all)
	if refused := all - taken; taken*40 < all || refused*40 < all {
		t.Errorf("%d objects taken and %d refused say little", taken, refused)
	}
}

// objectsOfSchema is the number of objects that are compared for each schema.
const objectsOfSchema = 20

// comparedWithAPIServer draws a schema and objects, and returns how many objects are accepted.
func comparedWithAPIServer(t *rapid.T) (taken int) {
	root, sub := drawSchema(t), drawSubresources(t)
	s, o := bothOf(t, root, sub)
	for range objectsOfSchema {
		raw := widget(drawFields(t, root, 4))
		if differs := agree(s, o, raw); differs != "" {
			t.Fatalf("%s\nschema %s\nsubresources %s\nobject %s", differs, schema.JSON(root), schema.JSON(sub), schema.JSON(raw))
		}
		if len(checkStructural(s, raw).Problems) == 0 {
			taken++
		}
	}
	return taken
}

// promised checks a value, and fails unless every promise of Check holds for the result.
func promised(t rapid.TB, s *Schema, raw map[string]any) *Checked {
	t.Helper()
	same, _ := untyped.Clone(raw).(map[string]any)
	got := checkStructural(s, raw)
	if !untyped.Equal(raw, same) {
		t.Fatalf("changed its input\nfrom %v\nto   %v", same, raw)
	}
	again := checkStructural(s, same)
	if !reflect.DeepEqual(got, again) {
		t.Fatalf("two answers:\n%s\n%s", describeChecked(got), describeChecked(again))
	}
	untyped.Destroy(same)
	if !reflect.DeepEqual(got, again) {
		t.Fatalf("kept something of its input:\n%s\n%s", describeChecked(got), describeChecked(again))
	}
	untyped.CheckProblems(t, got.Problems, MaxProblems+1)
	untyped.CheckProblems(t, got.Warnings, MaxProblems+1)
	for _, p := range got.Problems {
		if strings.Contains(p.String(), "bug") {
			t.Fatalf("unexpected problem %s", p)
		}
	}
	return got
}

// TestStructuralTotal: for any schema and any value, even one that is no JSON, there is one result.
func TestStructuralTotal(t *testing.T) {
	alien := []any{math.NaN(), math.Inf(1), uint64(math.MaxUint64), float32(1.5), struct{}{}, []string{"a"}, map[string]string{"a": "b"},
		make(chan int), []byte("1"), strings.Repeat("\xff", 500), 1e300, int64(math.MinInt64)}
	rapid.Check(t, func(t *rapid.T) {
		root := drawSchema(t)
		all, err := Structural(resourceOf(root))
		if err != nil {
			t.Fatal(err)
		}
		raw := widget(drawFields(t, root, 4))
		for range rapid.IntRange(0, 3).Draw(t, "changes") {
			values := append(oddValues(), alien...)
			at := rapid.IntRange(0, 20).Draw(t, "at")
			raw, _ = untyped.Mutate(raw, &at, rapid.SampledFrom(values).Draw(t, "value")).(map[string]any)
		}
		promised(t, all[0], raw)
	})
}

// TestStructuralEndless: objects that are larger or deeper than any JSON, or that contain themselves.
func TestStructuralEndless(t *testing.T) {
	s, _ := schemaIn(t, `{type: object, x-kubernetes-preserve-unknown-fields: true, properties: {
		list: {type: array, items: {type: string}}, free: {x-kubernetes-preserve-unknown-fields: true},
		embedded: {type: object, x-kubernetes-embedded-resource: true, x-kubernetes-preserve-unknown-fields: true}}}`)
	endless := map[string]any{}
	endless["free"], endless["embedded"], endless["other"] = endless, endless, endless
	many := make([]any, workLimit)
	wide := map[string]any{}
	for i := range 1000 {
		wide[strings.Repeat("k", 1+i)] = make([]any, 2000)
	}
	for name, raw := range map[string]map[string]any{
		"endless": endless, "many": {"list": many}, "wide": {"free": wide}, "nothing": nil,
		"deep": {"free": deepList(100000)},
	} {
		got := s.Check(&unstructured.Unstructured{Object: raw})
		again := s.Check(&unstructured.Unstructured{Object: raw})
		if len(got.Problems) == 0 || !reflect.DeepEqual(got, again) {
			t.Errorf("%s: %v, then %v", name, got.Problems, again.Problems)
		}
		untyped.CheckProblems(t, got.Problems, MaxProblems+1)
	}
	if got := s.Check(nil); len(got.Problems) == 0 {
		t.Error("nothing is well-formed")
	}
}

func deepList(depth int) any {
	var value any
	for range depth {
		value = []any{value}
	}
	return value
}

// FuzzStructural checks any object by any schema.
func FuzzStructural(f *testing.F) {
	f.Add([]byte(`{"type":"object","properties":{"spec":{"type":"object","required":["a"],"properties":{"a":{"type":"string","pattern":"^a"}}}}}`),
		[]byte(`{"spec":{"a":"b","c":null}}`))
	f.Add([]byte(`{"type":"object","oneOf":[{"required":["a"]},{"required":["b"]}],"properties":{"a":{"x-kubernetes-int-or-string":true},"b":{"type":"number","maximum":3}}}`),
		[]byte(`{"a":1,"b":4}`))
	f.Add([]byte(`{"type":"object","properties":{"l":{"type":"array","x-kubernetes-list-type":"set","items":{"type":"string","format":"ipv4"}}}}`),
		[]byte(`{"l":["x","x"]}`))
	f.Fuzz(func(t *testing.T, definition, object []byte) {
		root := &props{}
		var raw map[string]any
		if yaml.Unmarshal(definition, root) != nil || json.Unmarshal(object, &raw) != nil || raw == nil {
			t.Skip()
		}
		all, err := Structural(resourceOf(root))
		if err != nil {
			return
		}
		promised(t, all[0], raw)
	})
}
