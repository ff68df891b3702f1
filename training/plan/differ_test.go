package plan

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"stoic/schema"
)

func TestDifferences(t *testing.T) {
	for _, c := range []struct{ want, stored, differ string }{
		{`{}`, `{"a":1}`, ""},
		{`{"a":1}`, `{"a":1,"b":{"c":2}}`, ""},
		{`{"a":1}`, `{"a":2}`, "a"},
		{`{"a":1}`, `{"a":"1"}`, "a"},
		{`{"a":1,"b":2}`, ``, "a b"},
		{`{"a":1}`, `null`, "a"},
		{`{"a":1}`, `[1]`, "a"},
		{`{"a":1}`, `{"a":`, "a"},
		{`{"a":null}`, `{}`, ""},
		{`{"a":null,"b":null,"c":null,"d":null}`, `{"a":0,"b":"","c":{},"d":false}`, ""},
		{`{"a":null}`, `{"a":"x"}`, "a"},
		{`{"a":50}`, `{"a":5e1}`, ""},
		{`{"a":["x","y"]}`, `{"a":["y","x"]}`, "a"},
		{`{"a":["x"]}`, `{"a":["x","x"]}`, "a"},
		{`{"a":{"b":1}}`, `{"a":{"b":1,"c":2}}`, "a"},
		{`{"a":{"b":1,"c":2}}`, `{"a":{"b":1}}`, "a"},
		{`{"a":{"b":null}}`, `{}`, ""},
		{`{"a":{"b":1,"c":""}}`, `{"a":{"b":1,"d":null}}`, ""},
		{`{"minResources":{"cpu":"1000m","memory":"1Gi"}}`, `{"minResources":{"cpu":1,"memory":"1024Mi"}}`, ""},
		{`{"minResources":{"cpu":"1"}}`, `{"minResources":{"cpu":"2"}}`, "minResources"},
		{`{"minResources":{"cpu":"1"}}`, `{"minResources":{"cpu":"1e999999999"}}`, "minResources"},
		{`{"minResources":{"cpu":"1"}}`, `{"minResources":{"cpu":{}}}`, "minResources"},
		{`{"metrics":[{"target":{"averageValue":"500m"}}]}`, `{"metrics":[{"target":{"averageValue":"0.5"}}]}`, ""},
		{`{"metrics":[{"name":"1"}]}`, `{"metrics":[{"name":"1.0"}]}`, "metrics"},
	} {
		var want map[string]json.RawMessage
		if err := json.Unmarshal([]byte(c.want), &want); err != nil {
			t.Fatal(err)
		}
		found := differences(want, []byte(c.stored))
		if got := strings.Join(slices.Sorted(maps.Keys(found)), " "); got != c.differ {
			t.Errorf("wanted %s, stored %s: %q differs, want %q", c.want, c.stored, got, c.differ)
		}
	}
}

// anyJSON returns a generator of JSON values up to some depth.
func anyJSON(depth int) *rapid.Generator[any] {
	scalars := []*rapid.Generator[any]{
		rapid.Just[any](nil), rapid.Bool().AsAny(), rapid.Int32().AsAny(), rapid.Float64Range(-1e6, 1e6).AsAny(), rapid.String().AsAny(),
		rapid.SampledFrom([]any{"", "1", "1000m", "1Gi", "1e3", 0}),
	}
	if depth == 0 {
		return rapid.OneOf(scalars...)
	}
	return rapid.OneOf(append(scalars, rapid.SliceOfN(anyJSON(depth-1), 0, 3).AsAny(), anyObject(depth-1).AsAny())...)
}

func anyObject(depth int) *rapid.Generator[map[string]any] {
	keys := rapid.OneOf(rapid.SampledFrom([]string{"minResources", "value", "averageValue", "metrics"}), rapid.StringN(1, 4, -1))
	return rapid.MapOfN(keys, anyJSON(depth), 0, 4)
}

// A stored spec as desired, with any additions of the API server, has no difference; a changed one has.
func TestDifferencesOfOneself(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		value := anyObject(3).Draw(t, "spec")
		want := object(schema.JSON(value))
		stored := anyObject(2).Draw(t, "defaults")
		maps.Copy(stored, value)
		text := schema.JSON(stored)
		if found := differences(want, text); len(found) > 0 {
			t.Fatalf("%v differs in %s", found, text)
		}
		for _, key := range slices.Sorted(maps.Keys(want)) {
			stored[key] = map[string]any{"another": "thing"}
			changed := schema.JSON(stored)
			found := differences(want, changed)
			if len(found) != 1 || found[key] == nil {
				t.Fatalf("%s was changed, and %v found", key, found)
			}
			if again := differences(want, merged(changed, schema.JSON(found))); len(again) > 0 {
				t.Fatalf("%v differs after the update", again)
			}
			stored[key] = value[key]
		}
	})
}
