package simulation

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/klog/v2"
)

var (
	firstSeed = flag.Uint64("seed", 1, "the first seed")
	schedules = flag.Int("schedules", 300, "how many seeds")
	replay    = flag.Uint64("replay", 0, "run this seed alone and print its trace")
	workers   = flag.Int("workers", 2, "how many schedules run at the same time")
)

func TestMain(m *testing.M) {
	flag.Parse()
	debug.SetGCPercent(2000)       // schedules are short and make much garbage
	klog.SetLogger(logr.Discard()) // client-go logs every injected fault
	// One of these handlers makes everything that reports an error wait for a moment after the last error, by the clock. Here the
	// clock would be that of another bubble.
	utilruntime.ErrorHandlers = nil
	os.Exit(m.Run())
}

const (
	// tellEvery is after how many schedules a line of progress is printed.
	tellEvery = 5000
	// shortSchedules is how many run with -short, under the race detector.
	shortSchedules = 60
)

// TestSchedules runs many schedules and prints one line about them.
func TestSchedules(t *testing.T) {
	if *replay > 0 {
		takeTurns(t)
		o := Run(t, *replay)
		t.Logf("seed %d, hash %x\n%s", o.Seed, o.Hash, strings.Join(o.Trace, "\n"))
		for _, v := range o.Violations {
			t.Error(v)
		}
		return
	}
	begin := time.Now()
	total := Outcome{Faults: map[string]int{}}
	bad, ran := 0, 0
	if testing.Short() {
		*schedules = min(*schedules, shortSchedules)
	}
	var mu sync.Mutex
	t.Run("all", func(t *testing.T) {
		for w := range *workers {
			t.Run(fmt.Sprint(w), func(t *testing.T) {
				t.Parallel()
				for i := w; i < *schedules; i += *workers {
					o := Run(t, *firstSeed+uint64(i))
					mu.Lock()
					total.add(o)
					if ran++; ran%tellEvery == 0 {
						fmt.Printf("schedules %d so far, violations %d (%s)\n", ran, bad, time.Since(begin).Round(time.Second))
					}
					if len(o.Violations) > 0 {
						bad++
						if bad <= 10 {
							fmt.Println(report(o)) // immediately: a long run may be cut short
							t.Fail()
						}
					}
					mu.Unlock()
				}
			})
		}
	})
	fmt.Printf("schedules %d, steps %d, writes %d, crashes %d, faults %s, violations %d (%s)\n",
		ran, total.Steps, total.Writes, total.Crashes, counts(total.Faults), bad, time.Since(begin).Round(time.Millisecond))
}

func (o *Outcome) add(other Outcome) {
	o.Steps += other.Steps
	o.Writes += other.Writes
	o.Crashes += other.Crashes
	for fault, n := range other.Faults {
		o.Faults[fault] += n
	}
}

func counts(faults map[string]int) string {
	parts := []string{}
	for _, fault := range slices.Sorted(maps.Keys(faults)) {
		parts = append(parts, fmt.Sprintf("%s %d", fault, faults[fault]))
	}
	return "{" + strings.Join(parts, ", ") + "}"
}

func report(o Outcome) string {
	return fmt.Sprintf("seed %d:\n\t%s\nthe end of its trace:\n%s\nthe whole of it: go test ./test/faults/simulation -run TestSchedules -replay %d -v",
		o.Seed, strings.Join(o.Violations, "\n\t"), strings.Join(o.Trace[max(0, len(o.Trace)-40):], "\n"), o.Seed)
}

// takeTurns makes a seed one schedule, as far as possible. An informer that reports two children queues their job twice. With two
// processors a worker may run in between and reconcile twice instead of once; if a write of the first reconcile is lost, the
// model sees that. With one processor a goroutine runs until it waits, unless the runtime preempts it after 10 ms.
func takeTurns(t *testing.T) {
	processors := runtime.GOMAXPROCS(1)
	t.Cleanup(func() { runtime.GOMAXPROCS(processors) })
}

// replays is within how many runs of a seed one trace must occur twice. The runtime preempts a goroutine that has run for 10 ms of
// wall time, and then the order of two requests may change: on a machine with other load this happens in most runs of a seed. A
// schedule that follows something else than its seed, such as the order of a map, does so at every step and never repeats a trace.
const replays = 40

// TestReplay: a seed is a schedule. Otherwise no violation could be reproduced.
func TestReplay(t *testing.T) {
	takeTurns(t)
	seeds := uint64(50)
	if testing.Short() {
		seeds = 15
	}
	for seed := *firstSeed; seed < *firstSeed+seeds; seed++ {
		first, came := Run(t, seed), map[uint64]bool{}
		came[first.Hash] = true
		for again := first; ; {
			if again = Run(t, seed); came[again.Hash] {
				break
			}
			if came[again.Hash] = true; len(came) == replays {
				t.Errorf("seed %d: %d runs, and no two are the same; two of them, where they part:\n%s", seed, replays, parting(first.Trace, again.Trace))
				break
			}
		}
	}
}

// parting returns the first line in which two traces differ, with the lines before it.
func parting(a, b []string) string {
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] {
			return fmt.Sprintf("step %d:\n%s\n%s\nbefore:\n%s", i, a[i], b[i], strings.Join(a[max(0, i-12):i], "\n"))
		}
	}
	return "one goes on where the other ends"
}
