//go:build !race

package convert

import (
	"fmt"
	"maps"
	"runtime"
	"slices"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"stoic/schema"
)

// The budgets of a conversion. Times are those of a machine on which the stock decoder takes stockTime for the same
// job. That time is measured in the same run, so that this machine may be slow or busy.
// The race detector would measure itself, so it leaves this file out.
const (
	stockTime    = 104 * time.Microsecond
	mostTime     = 60 * time.Microsecond // for a job of 6 KB
	leastSpeedup = 1.5                   // over the stock decoder
	mostGarbage  = 35 << 10              // bytes allocated for such a job
	mostHeld     = 12 << 10              // bytes that it takes in the store
	mostWorst    = 50 * time.Millisecond // for any object that an API server can store
	attempts     = 5                     // at a budget of time
)

// compare returns the times of our converter and of the stock decoder for the same job, measured in turns, shortest first.
func compare(t *testing.T, rounds int) (our, their []time.Duration) {
	u := largeJob(t)
	our, their = make([]time.Duration, rounds), make([]time.Duration, rounds)
	for i := range rounds {
		start := busy(t)
		ours(t, u)
		middle := busy(t)
		stock(t, u)
		our[i], their[i] = middle-start, busy(t)-middle
	}
	slices.Sort(our)
	slices.Sort(their)
	return our, their
}

// TestBudgetTime compares the converter with the stock decoder, which checks less. It compares the shortest times: other load on
// the machine adds different amounts to the two times. With a load of 12 on two cores the quotient of the medians is between 1.5
// and 1.9, that of the shortest times between 1.74 and 1.85.
func TestBudgetTime(t *testing.T) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	for attempt := 1; ; attempt++ {
		times, stockTimes := compare(t, 500)
		our, their := times[0], stockTimes[0]
		speedup := float64(their) / float64(our)
		scaled := time.Duration(float64(stockTime) / speedup)
		t.Logf("ours %s, stock %s: %.2f times as fast; where stock takes %s, ours takes %s", our, their, speedup, stockTime, scaled.Round(time.Microsecond))
		if speedup >= leastSpeedup && scaled <= mostTime {
			return
		}
		if attempt == attempts {
			t.Fatalf("the budgets are %.1f times and %s", leastSpeedup, mostTime)
		}
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
	t.Logf("%d bytes allocated", garbage)
	if garbage > mostGarbage {
		t.Errorf("%d bytes allocated for one job, the budget is %d", garbage, mostGarbage)
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

// TestBudgetWorst: the conversion of any object that an API server can store takes at most mostWorst.
func TestBudgetWorst(t *testing.T) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	objects := worst(t)
	for _, name := range slices.Sorted(maps.Keys(objects)) {
		u := &unstructured.Unstructured{Object: objects[name]}
		best := time.Hour
		var result *Result
		for attempt := 0; attempt < attempts && (best > mostWorst || attempt == 0); attempt++ {
			_, stock := compare(t, 50)
			usual := stock[len(stock)/2] // at what speed the machine works at the moment
			start := busy(t)
			result = Object(kindFor(u.Object), u)
			took := busy(t) - start
			best = min(best, took, time.Duration(float64(took)*float64(stockTime)/float64(usual)))
		}
		text, reported := "a job", 0
		if result.Rejection != nil {
			text = fmt.Sprintf("%d problems", len(result.Rejection.Problems))
			reported = len(schema.Summarize(result.Rejection.Problems, result.Rejection.More, "no pods were created", ""))
		}
		t.Logf("%-40s %8s  %s", name, best.Round(100*time.Microsecond), text)
		if best > mostWorst || reported > schema.MaxSummary {
			t.Errorf("%s: %s and a message of %d bytes; the budgets are %s and %d", name, best, reported, mostWorst, schema.MaxSummary)
		}
	}
}
