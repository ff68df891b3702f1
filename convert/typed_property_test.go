package convert

import (
	"bytes"
	"encoding/json"
	"maps"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	kjson "k8s.io/apimachinery/pkg/util/json"
	"pgregory.net/rapid"

	"stoic/schema"
)

// checkTyped converts an object, and fails unless every promise of Typed holds for the result.
func checkTyped(t rapid.TB, read func(*unstructured.Unstructured) *Result, raw map[string]any) *Result {
	t.Helper()
	before := new(Encoder).Encode(raw)
	got := read(&unstructured.Unstructured{Object: raw})
	if after := new(Encoder).Encode(raw); string(before) != string(after) {
		t.Fatalf("changed its input\nfrom %s\nto   %s", before, after)
	}
	if again := read(&unstructured.Unstructured{Object: raw}); !reflect.DeepEqual(got, again) {
		t.Fatalf("two answers for %s:\n%+v\n%+v", before, got, again)
	}
	if got.Head == nil || (got.Object == nil) == (got.Rejection == nil) || got.Resource != gadgets() {
		t.Fatalf("%s: %+v", before, got)
	}
	meta, _ := raw["metadata"].(map[string]any)
	if name, _ := meta["name"].(string); got.Meta.Name != name {
		t.Fatalf("%s: the name is %q", before, got.Meta.Name)
	}
	problems := got.Warnings
	if got.Rejection != nil {
		if len(got.Rejection.Problems) == 0 || strings.Contains(got.Rejection.Problems[0].String(), "bug in the operator") {
			t.Fatalf("%s: %v", before, got.Rejection.Problems)
		}
		problems = append(slices.Clone(problems), got.Rejection.Problems...)
	}
	for _, p := range problems {
		if len(p.String()) > schema.MaxSummary || !slices.Contains(schema.Codes(), p.Code) {
			t.Fatalf("%s: %v", before, p)
		}
	}
	if object, ok := got.Object.(*gadget); ok {
		sameAsDecoder(t, raw, object)
	}
	statusFits(t, read, raw, got)
	return got
}

// statusFits checks that a status that is written as it was read fits, so that it is written only once.
func statusFits(t rapid.TB, read func(*unstructured.Unstructured) *Result, raw map[string]any, got *Result) {
	t.Helper()
	written := maps.Clone(raw)
	var status any
	if err := kjson.Unmarshal(schema.JSON(got.Status), &status); err != nil {
		t.Fatal(err)
	}
	if written == nil {
		written = map[string]any{}
	}
	written["status"] = status
	again := read(&unstructured.Unstructured{Object: written})
	if again.StatusUnfit || !bytes.Equal(schema.JSON(got.Status), schema.JSON(again.Status)) {
		t.Fatalf("the status of %s is written as %s, and read as %s; unfit %t", new(Encoder).Encode(raw), schema.JSON(got.Status), schema.JSON(again.Status), again.StatusUnfit)
	}
}

// sameAsDecoder checks that an accepted object equals what the decoder of the API machinery returns for the same JSON.
func sameAsDecoder(t rapid.TB, raw map[string]any, got *gadget) {
	t.Helper()
	equal := []cmp.Option{cmp.AllowUnexported(gadgetSpec{}), cmp.Comparer(func(a, b metav1.Time) bool { return a.Equal(&b) }),
		cmp.Comparer(func(a, b resource.Quantity) bool { return a.Cmp(b) == 0 })}
	var spec gadgetSpec
	text := new(Encoder).Encode(raw["spec"])
	if err := kjson.Unmarshal(text, &spec); err != nil {
		t.Fatalf("accepted %s: %v", text, err)
	}
	if diff := cmp.Diff(spec, got.Spec, equal...); diff != "" {
		t.Fatalf("%s (-theirs +ours):\n%s", text, diff)
	}
	var meta metav1.ObjectMeta
	if text = new(Encoder).Encode(raw["metadata"]); kjson.Unmarshal(text, &meta) == nil && !nullInList(raw["metadata"]) {
		meta.ManagedFields, meta.DeletionTimestamp = nil, got.DeletionTimestamp
		if diff := cmp.Diff(meta, got.ObjectMeta, equal...); diff != "" {
			t.Fatalf("%s (-theirs +ours):\n%s", text, diff)
		}
	}
	var status gadgetStatus
	if text = new(Encoder).Encode(raw["status"]); kjson.Unmarshal(text, &status) == nil && !nullInList(raw["status"]) {
		if diff := cmp.Diff(status, got.Status, equal...); diff != "" {
			t.Fatalf("%s (-theirs +ours):\n%s", text, diff)
		}
	}
}

// nullInList reports whether a list or map has a null: the decoder makes a zero value of it, and we leave it out.
func nullInList(raw any) bool {
	switch v := raw.(type) {
	case []any:
		return slices.ContainsFunc(v, func(item any) bool { return item == nil || nullInList(item) })
	case map[string]any:
		for _, value := range v {
			if value == nil || nullInList(value) {
				return true
			}
		}
	}
	return false
}

// drawnGadget draws any JSON object that resembles a gadget: most fields are valid.
func drawnGadget() *rapid.Generator[map[string]any] {
	odd := rapid.SampledFrom([]any{nil, true, "", "x", "\u2028\"", int64(-1), int64(0), int64(3), int64(math.MaxInt64), 0.5, 3.0, 1e300, []any{}, map[string]any{}, []any{nil}, []any{"x"}, map[string]any{"a": nil}})
	right := map[string]*rapid.Generator[any]{}
	for name, values := range map[string][]any{
		"target": {"mine"}, "type": {"Copy", "Link"}, "level": {int64(1), 2.0}, "count": {int64(-5), int64(100)}, "least": {int64(1), 1e3}, "most": {int64(-7)},
		"ratio": {0.25, int64(0)}, "single": {0.5, int64(3)}, "on": {true, false}, "code": {"de"}, "codes": {[]any{"de"}, []any{"fr", "it"}},
		"labels": {map[string]any{"a": "b", "c": nil}, map[string]any{}}, "amounts": {map[string]any{"cpu": "1.5", "memory": "3Gi", "n": int64(7)}}, "port": {int64(80), "web", 80.0},
		"at": {"2026-01-02T03:04:05Z", "2026-01-02T03:04:05.5+07:00"}, "for": {"1h30m", "-0.5s"}, "raw": {"x", map[string]any{"a": []any{nil, 1.5, int64(math.MinInt64), "<"}}, int64(7)},
		"bytes": {"", "AQI="}, "tree": {map[string]any{"name": "a", "branches": []any{map[string]any{"named": map[string]any{"x": map[string]any{}}}}}},
		"tags": {[]any{map[string]any{"key": "k"}}, []any{}}, "tolerations": {[]any{map[string]any{"operator": "Exists", "tolerationSeconds": nil}}}, "inner": {"i"}, "pointed": {"p"},
	} {
		right[name] = rapid.SampledFrom(values)
	}
	names := slices.Sorted(maps.Keys(right))
	return rapid.Custom(func(t *rapid.T) map[string]any {
		mistakes := rapid.SampledFrom([]int{0, 0, 1, 10}).Draw(t, "percent")
		value := func(of *rapid.Generator[any], label string) any {
			if rapid.IntRange(1, 100).Draw(t, "luck") <= mistakes {
				of = odd
			}
			return of.Draw(t, label)
		}
		spec := map[string]any{"target": "mine"}
		for _, name := range names {
			if rapid.Bool().Draw(t, "given") {
				spec[name] = value(right[name], name)
			}
		}
		raw := map[string]any{
			"apiVersion": value(rapid.Just[any]("example.com/v1"), "apiVersion"), "kind": value(rapid.Just[any]("Gadget"), "kind"),
			"metadata": value(rapid.SampledFrom([]any{map[string]any{"name": "g"}, map[string]any{"name": "g", "labels": map[string]any{"a": "b"},
				"annotations": map[string]any{"x": "y"}, "finalizers": []any{"a/b"}, "generation": int64(3), "creationTimestamp": "2026-01-02T03:04:05Z", "deletionTimestamp": "2026-01-02T03:04:05Z",
				"managedFields": []any{map[string]any{"manager": "m"}}, "ownerReferences": []any{map[string]any{"kind": "A", "name": "a", "uid": "u", "controller": true}}}}), "metadata"),
			"spec": value(rapid.Just[any](spec), "spec"),
			"status": map[string]any{"observedGeneration": odd.Draw(t, "observed"), "phase": odd.Draw(t, "phase"), "since": odd.Draw(t, "since"),
				"counts": odd.Draw(t, "counts"), "conditions": []any{odd.Draw(t, "condition"), map[string]any{"type": odd.Draw(t, "type"), "status": "True"}}},
		}
		if rapid.Bool().Draw(t, "unknown field") {
			raw[rapid.String().Draw(t, "key")] = odd.Draw(t, "value")
		}
		return raw
	})
}

func TestTypedProperties(t *testing.T) {
	read := Typed[gadget](gadgets())
	drawn, accepted := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		drawn++
		if checkTyped(t, read, drawnGadget().Draw(t, "gadget")).Object != nil {
			accepted++
		}
	})
	if accepted*10 < drawn {
		t.Errorf("only %d of %d were accepted", accepted, drawn)
	}
}

// FuzzTyped converts any JSON object.
func FuzzTyped(f *testing.F) {
	for _, text := range []string{
		`{}`, `{"spec":[]}`, `{"metadata":{"name":"g"},"spec":{"target":"mine"},"status":{"conditions":[{"type":"A"},7]}}`,
		`{"apiVersion":"example.com/v1","kind":"Gadget","metadata":{"name":"g","deletionTimestamp":"x"},"spec":{"target":"a","tree":{"branches":[{"named":{"x":null}}]},"raw":{"a":[1e300]}}}`,
		`{"metadata":{"name":"g"},"spec":{"target":"a","amounts":{"cpu":1e99},"at":"2026-01-02T03:04:05Z","for":"1h","port":1.0,"bytes":"AQI=","pointed":null,"inner":"i","labels":{"a":null},"ratio":0.1,"level":3,"codes":["de"],"tags":[{"key":"a"}]}}`,
	} {
		f.Add([]byte(text))
	}
	read := Typed[gadget](gadgets(), Need[gadgetTag]("key"), Validate(func(g *gadget) []schema.Problem {
		if strings.HasPrefix(g.Spec.Target, "x") {
			return []schema.Problem{{Path: g.Spec.Target, Found: g.Spec.Inner}}
		}
		return nil
	}))
	f.Fuzz(func(t *testing.T, text []byte) {
		var raw map[string]any
		if err := kjson.Unmarshal(text, &raw); err != nil {
			t.Skip()
		}
		checkTyped(t, read, raw)
	})
}

// TestTypedAliens: values that no decoder makes have a result, too: values of other Go types, and objects that contain themselves,
// or the same value many times.
func TestTypedAliens(t *testing.T) {
	read := Typed[gadget](gadgets())
	loop := map[string]any{"name": "a"}
	loop["branches"], loop["named"] = []any{loop, loop}, map[string]any{"x": loop, "y": loop}
	shared := any(map[string]any{})
	for range 60 {
		shared = map[string]any{"branches": []any{shared, shared}}
	}
	twins := map[string]any{}
	twins["a"], twins["b"] = twins, []any{twins, twins}
	many := make([]any, 300)
	for i := range many {
		many[i] = map[string]any{"branches": many}
	}
	for name, spec := range map[string]map[string]any{
		"a loop":             {"target": "a", "tree": loop},
		"the same many ways": {"target": "a", "tree": shared},
		"a list in itself":   {"target": "a", "tree": map[string]any{"branches": many}},
		"raw in itself":      {"target": "a", "raw": twins},
		"a channel":          {"target": make(chan int)},
		"a function":         {"target": "a", "raw": func() {}},
		"a typed map":        {"target": "a", "labels": map[string]string{"a": "b"}},
		"a nil map":          {"target": "a", "tree": map[string]any(nil), "count": json.Number("x"), "codes": []any(nil)},
	} {
		t.Run(name, func(t *testing.T) {
			got := read(gadgetIn(spec, map[string]any{"status": loop}))
			if got.Rejection == nil || got.Meta.Name != "g" {
				t.Errorf("%+v", got)
			}
		})
	}
}

// TestTypedDecoderThatPanics: a panic in a type's own decoder is a defect of the operator, too.
func TestTypedDecoderThatPanics(t *testing.T) {
	got := Typed[rigged](gadgets())(gadgetIn(map[string]any{"bomb": "x"}))
	if got.Rejection == nil || !strings.Contains(got.Rejection.Problems[0].String(), "bug in the operator") {
		t.Errorf("%+v", got)
	}
	got = Typed[rigged](gadgets())(gadgetIn(map[string]any{}, map[string]any{"status": map[string]any{"bomb": "x"}}))
	if got.Object == nil {
		t.Errorf("a status that cannot be read is a reason to reject: %v", got.Rejection.Problems)
	}
}

type rigged struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`
	Spec              struct {
		Bomb bomb `json:"bomb"`
	} `json:"spec"`
	Status *struct {
		Bomb bomb `json:"bomb"`
	} `json:"status"`
}

type bomb struct{}

func (*bomb) UnmarshalJSON([]byte) error { panic("boom") }
