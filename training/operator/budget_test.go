//go:build !race

package operator

import (
	"runtime"
	"testing"

	engine "stoic/convert"
	"stoic/training/kinds"
)

// mostHeldOfProblems bounds the bytes in the cache of an object full of problems. The race detector would
// measure itself, so it leaves this file out.
const mostHeldOfProblems = 4 << 10

// TestBudgetHeldOfProblems: the size of an object in the cache does not grow with its number of problems.
func TestBudgetHeldOfProblems(t *testing.T) {
	const objects = 50
	env := make([]any, 1000)
	for i := range env {
		env[i] = map[string]any{"name": "A", "value": int64(i), "x": nil}
	}
	raw := jobWith(map[string]any{"env": env}, nil)
	for name, cut := range map[string]func(*engine.Result) *engine.Result{
		"whole": func(r *engine.Result) *engine.Result { return r },
		"brief": (*engine.Result).Brief,
	} {
		all := make([]*engine.Result, objects)
		var before, after runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&before)
		for i := range all {
			all[i] = cut(Convert(kinds.TFJob(), raw))
		}
		runtime.GC()
		runtime.ReadMemStats(&after)
		runtime.KeepAlive(all)
		held := (after.HeapAlloc - before.HeapAlloc) / objects
		t.Logf("%s: %d bytes held of an object with 1000 problems and 1000 warnings", name, held)
		if name == "brief" && held > mostHeldOfProblems {
			t.Errorf("%d bytes held, the budget is %d", held, mostHeldOfProblems)
		}
	}
}
