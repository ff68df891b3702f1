package effort

import (
	"math"
	"runtime"
	"testing"
	"time"
)

// An excess is real if the two functions were called turns times each, and for as long as patience: a phase in which the machine is
// slow for one of them may last longer than many short calls.
const (
	turns    = 20
	patience = 3 * time.Second
)

// Ratio returns how many times the CPU time of other one call of f takes. It calls them in turns and compares their shortest
// times, since other work on the machine lengthens calls and never shortens one. It returns as soon as the ratio is at most
// enough, so that only a real excess takes all turns.
func Ratio(t testing.TB, enough float64, f, other func()) float64 {
	t.Helper()
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	shortest := time.Duration(math.MaxInt64)
	shortestOther := time.Duration(math.MaxInt64)
	ratio := math.Inf(1)
	began := time.Now()
	for turn := 0; ratio > enough && (turn < turns || time.Since(began) < patience); turn++ {
		shortest = min(shortest, measure(t, f))
		shortestOther = min(shortestOther, measure(t, other))
		ratio = float64(shortest) / float64(max(shortestOther, 1))
	}
	return ratio
}

func measure(t testing.TB, call func()) time.Duration {
	t.Helper()
	start := spent(t)
	call()
	return spent(t) - start
}
