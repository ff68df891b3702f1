//go:build !race

package convert

import (
	"encoding/json"
	"fmt"
	"maps"
	"runtime"
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"stoic/schema"
	"stoic/test/effort"
)

// The budgets of a conversion. Times are ratios: both sides are measured in the same run, so that this machine may be slow or busy.
// BenchmarkObject measures the times themselves. The race detector would measure itself, so it leaves this file
// out.
const (
	mostGarbage      = 35 << 10 // bytes allocated for a job of 6 KB
	mostAllocations  = 150      // for such a job
	mostHeld         = 12 << 10 // bytes that it takes in the store
	mostTime         = 1        // times the CPU time of the stock decoder, which checks less; usually 0.5 to 0.6
	mostWorst        = 10       // times the CPU time of encoding/json for the same object, for any object that an API server can store
	mostWorstGarbage = 40       // bytes allocated for each byte of such an object, beyond mostGarbage
)

// TestBudgetTime: the converter is faster than the stock decoder.
func TestBudgetTime(t *testing.T) {
	const calls = 50 // the clock would be a part of the time of one
	u := largeJob(t)
	ratio := effort.Ratio(t, mostTime, func() {
		for range calls {
			ours(t, u)
		}
	}, func() {
		for range calls {
			stock(t, u)
		}
	})
	t.Logf("%.2f times the time of the stock decoder", ratio)
	if ratio > mostTime {
		t.Errorf("a conversion takes %.2f times as long as the stock decoder, the budget is %d", ratio, mostTime)
	}
}

func TestBudgetGarbage(t *testing.T) {
	u := largeJob(t)
	const rounds = 200
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for range rounds {
		ours(t, u)
	}
	runtime.ReadMemStats(&after)
	garbage := (after.TotalAlloc - before.TotalAlloc) / rounds
	allocations := (after.Mallocs - before.Mallocs) / rounds
	t.Logf("%d bytes in %d allocations", garbage, allocations)
	if garbage > mostGarbage || allocations > mostAllocations {
		t.Errorf("%d bytes in %d allocations for one job, the budgets are %d and %d", garbage, allocations, mostGarbage, mostAllocations)
	}
}

// TestBudgetHeld compares the size of a job in the cache with that of the raw object.
func TestBudgetHeld(t *testing.T) {
	const jobs = 300
	held := func(one func() any) uint64 {
		all := make([]any, jobs)
		var before, after runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&before)
		for i := range all {
			all[i] = one()
		}
		runtime.GC()
		runtime.ReadMemStats(&after)
		runtime.KeepAlive(all)
		return (after.HeapAlloc - before.HeapAlloc) / jobs
	}
	converted := held(func() any { return ours(t, largeJob(t)) })
	raw := held(func() any { return largeJob(t) })
	t.Logf("%d bytes held; %d if it were kept raw", converted, raw)
	if converted > mostHeld {
		t.Errorf("a job takes %d bytes in the store, the budget is %d", converted, mostHeld)
	}
}

// TestBudgetWorst: the time and the garbage of a conversion are proportional to the size of the object, whatever the object is. A
// conversion that compares each of 10,000 items with each other one takes a hundred times as long as the encoder and more.
func TestBudgetWorst(t *testing.T) {
	objects := worst(t)
	for _, f := range faultSizes() {
		objects[f.name] = sound(t)
		apply(t, objects[f.name], f.put)
	}
	for _, name := range slices.Sorted(maps.Keys(objects)) {
		u := &unstructured.Unstructured{Object: objects[name]}
		size := len(encoded(t, u))
		var before, after runtime.MemStats
		_ = Object(kindFor(u.Object), u) // the first conversion of a kind builds its shapes
		runtime.ReadMemStats(&before)
		result := Object(kindFor(u.Object), u)
		runtime.ReadMemStats(&after)
		garbage := max(int(after.TotalAlloc-before.TotalAlloc)-mostGarbage, 0) / size
		ratio := effort.Ratio(t, mostWorst, func() { Object(kindFor(u.Object), u) }, func() { encoded(t, u) })
		text, reported := "a job", 0
		if result.Rejection != nil {
			text = fmt.Sprintf("%d problems", len(result.Rejection.Problems))
			reported = len(schema.Summarize(result.Rejection.Problems, result.Rejection.More, "no pods were created", ""))
		}
		t.Logf("%-40s %5.2f times, %2d bytes for each of %d, %s", name, ratio, garbage, size, text)
		if ratio > mostWorst || garbage > mostWorstGarbage {
			t.Errorf("%s: %.2f times as long as the encoder and %d bytes allocated for each byte; the budgets are %d and %d", name, ratio, garbage, mostWorst, mostWorstGarbage)
		}
		if reported > schema.MaxSummary {
			t.Errorf("%s: a message of %d bytes, the budget is %d", name, reported, schema.MaxSummary)
		}
	}
}

func encoded(t *testing.T, u *unstructured.Unstructured) []byte {
	t.Helper()
	text, err := json.Marshal(u.Object)
	if err != nil {
		t.Fatal(err)
	}
	return text
}
