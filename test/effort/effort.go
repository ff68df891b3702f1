package effort

import (
	"math"
	"runtime"
	"testing"
	"time"
)

// turns is how often the two functions are called at most.
const turns = 20

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
	for turn := 0; turn < turns && ratio > enough; turn++ {
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
