//go:build !race

package convert

import (
	"encoding/json"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"

	"stoic/test/effort"
)

// TestTypedBudget: how much garbage a conversion leaves, and that the time for large objects is proportional to their size.
func TestTypedBudget(t *testing.T) {
	const mostGarbage = 8 << 10
	const mostTime = 10 // times that of encoding/json for the same object
	read := Typed[gadget](gadgets())
	small := gadgetIn(map[string]any{"target": "mine", "type": "Copy", "tags": []any{map[string]any{"key": "a"}, map[string]any{"key": "b"}}, "at": "2026-01-02T03:04:05Z"})
	const rounds = 200
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for range rounds {
		if got := read(small); got.Object == nil {
			t.Fatal(sentences(got))
		}
	}
	runtime.ReadMemStats(&after)
	garbage := (after.TotalAlloc - before.TotalAlloc) / rounds
	t.Logf("%d bytes allocated", garbage)
	if garbage > mostGarbage {
		t.Errorf("%d bytes allocated for one object, the budget is %d", garbage, mostGarbage)
	}
	many := func(item any) []any { return slices.Repeat([]any{item}, 10_000) }
	unknown := map[string]any{"target": "mine"}
	for _, key := range strings.Fields(strings.Repeat("a ", 300)) {
		unknown[strings.Repeat(key, len(unknown))] = many("x")[:300]
	}
	for name, spec := range map[string]map[string]any{
		"wrong items": {"target": "mine", "tags": many("x")}, "items with unknown fields": {"target": "mine", "tags": many(map[string]any{"kye": "x"})},
		"codes": {"target": "mine", "codes": many("DEU")}, "a long text": {"target": strings.Repeat("x", 1<<17), "code": strings.Repeat("y", 1<<17)},
		"unknown fields": unknown, "a wide value": {"target": "mine", "raw": many(1.5)},
	} {
		object := gadgetIn(spec, map[string]any{"status": map[string]any{"conditions": many("x")}})
		ratio := effort.Ratio(t, mostTime, func() { read(object) }, func() {
			if _, err := json.Marshal(object.Object); err != nil {
				t.Fatal(err)
			}
		})
		t.Logf("%s: %.2f times as long as the encoder", name, ratio)
		if ratio > mostTime {
			t.Errorf("%s: %.2f times as long as the encoder, the budget is %d", name, ratio, mostTime)
		}
	}
}

// TestTypedMemory: malformed or dropped items do not take the memory of well-formed ones. A Condition takes 120 bytes and a
// Toleration 100, but a malformed item in the object may be two bytes.
func TestTypedMemory(t *testing.T) {
	read := Typed[gadget](gadgets())
	many := func(item any) []any { return slices.Repeat([]any{item}, 100_000) }
	got := read(gadgetIn(map[string]any{"target": "mine"}, map[string]any{"status": map[string]any{"conditions": append(many(nil), map[string]any{"type": "Ready"})}}))
	status, _ := got.Head.Status.(*gadgetStatus)
	if status == nil || len(status.Conditions) != 1 || cap(status.Conditions) > 8 {
		t.Fatalf("of 100,000 conditions that are null and one that is not %d are kept, with space for %d", len(status.Conditions), cap(status.Conditions))
	}
	for name, spec := range map[string]map[string]any{
		"numbers": {"tolerations": many(int64(0)), "tags": many(int64(0))}, "nulls": {"tolerations": many(nil), "tags": many(nil)},
	} {
		spec["target"] = "mine"
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		if got := read(gadgetIn(spec)); got.Object != nil {
			t.Fatalf("%s are taken", name)
		}
		runtime.ReadMemStats(&after)
		took := after.TotalAlloc - before.TotalAlloc
		if t.Logf("%s: %d bytes", name, took); took > 8<<20 {
			t.Errorf("%s: %d bytes are allocated", name, took)
		}
	}
}

// TestItemsAreCountedOnce: the number of problems does not depend on how the capacity of a list grows.
func TestItemsAreCountedOnce(t *testing.T) {
	for _, n := range []int{128, 129, 1000} {
		got := Typed[gadget](gadgets())(gadgetIn(map[string]any{"target": "mine", "tolerations": slices.Repeat([]any{int64(0)}, n)}))
		if first, want := got.Rejection.Problems[0], fmt.Sprintf("%d problems", n); first.Found != want {
			t.Errorf("found %s, want %s", first.Found, want)
		}
	}
}
