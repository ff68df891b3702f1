//go:build !race

package convert

import (
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"
)

// TestTypedBudget: what a conversion leaves to the garbage collector, and that large objects take no longer than their
// size accounts for.
func TestTypedBudget(t *testing.T) {
	const mostGarbage, mostTime = 8 << 10, 500 * time.Millisecond
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
	many := func(item any) []any { return slices.Repeat([]any{item}, 100_000) }
	unknown := map[string]any{"target": "mine"}
	for _, key := range strings.Fields(strings.Repeat("a ", 300)) {
		unknown[strings.Repeat(key, len(unknown))] = many("x")[:300]
	}
	for name, spec := range map[string]map[string]any{
		"wrong items": {"target": "mine", "tags": many("x")}, "items with unknown fields": {"target": "mine", "tags": many(map[string]any{"kye": "x"})},
		"codes": {"target": "mine", "codes": many("DEU")}, "a long text": {"target": strings.Repeat("x", 1<<20), "code": strings.Repeat("y", 1<<20)},
		"unknown fields": unknown, "a wide value": {"target": "mine", "raw": many(1.5)},
	} {
		best := time.Hour
		for attempt := 0; attempt < 5 && best > mostTime; attempt++ {
			start := time.Now()
			read(gadgetIn(spec, map[string]any{"status": map[string]any{"conditions": many("x")}}))
			best = min(best, time.Since(start))
		}
		if t.Logf("%s: %s", name, best); best > mostTime {
			t.Errorf("%s takes %s, the budget is %s", name, best, mostTime)
		}
	}
}
