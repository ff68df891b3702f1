//go:build linux

package e2e

import (
	"fmt"
	"os"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"stoic/test/e2e/supplies"
)

// How long a run may take on two idle cores.
const (
	coldLimit = 15 * time.Minute // from nothing
	warmLimit = 4 * time.Minute  // with programs and images from an earlier run
	// mostOthers is the share of the machine's time that others may have used for the limits to apply.
	mostOthers = 0.1
)

// stopwatch holds when a run began, and how busy the machine and we had been.
type stopwatch struct {
	began     time.Time
	busy, own time.Duration
	// apart is the time that does not count towards the limits: the tests with two versions of MPIJob, which only that kind needs.
	apart time.Duration
}

func startWatch(t *testing.T) *stopwatch {
	t.Helper()
	return &stopwatch{began: time.Now(), busy: busy(t), own: own(t)}
}

// judge prints how long the run took, and fails if that was too long on an otherwise idle machine. It is called when all
// processes have ended.
func (w *stopwatch) judge(t *testing.T, s *supplies.Supplies) {
	t.Helper()
	took := time.Since(w.began)
	others := float64(busy(t)-w.busy-(own(t)-w.own)) / float64(took) / float64(runtime.NumCPU())
	limit, what := warmLimit, "with programs and images from an earlier run"
	if s.Cold {
		limit, what = coldLimit, "from nothing"
	}
	took -= w.apart
	said := fmt.Sprintf("%s: %.0f s, of which programs and images %.0f s, node and tests %.0f s; MPIJobs took %.0f s more; others had %.0f %% of the machine",
		what, took.Seconds(), s.Took.Seconds(), (took - s.Took).Seconds(), w.apart.Seconds(), 100*others)
	fmt.Fprintln(os.Stderr, said)
	switch {
	case took <= limit:
	case others > mostOthers:
		t.Logf("more than %v, which says nothing on a busy machine: %s", limit, said)
	default:
		t.Errorf("more than %v: %s", limit, said)
	}
}

// busy returns how long the machine's processors have worked since it started.
func busy(t *testing.T) time.Duration {
	t.Helper()
	text, err := os.ReadFile("/proc/stat")
	if err != nil {
		t.Fatal(err)
	}
	first, _, _ := strings.Cut(string(text), "\n")
	var user, nice, system, idle, wait, irq, soft, steal int64
	if _, err := fmt.Sscanf(first, "cpu %d %d %d %d %d %d %d %d", &user, &nice, &system, &idle, &wait, &irq, &soft, &steal); err != nil {
		t.Fatalf("read %q: %v", first, err)
	}
	const ticks = 100 // per second, on every architecture
	return time.Duration(user+nice+system+irq+soft+steal) * time.Second / ticks
}

// own returns how long we, and those of our processes that have ended, have worked.
func own(t *testing.T) (all time.Duration) {
	t.Helper()
	for _, who := range []int{syscall.RUSAGE_SELF, syscall.RUSAGE_CHILDREN} {
		var used syscall.Rusage
		if err := syscall.Getrusage(who, &used); err != nil {
			t.Fatal(err)
		}
		all += time.Duration(used.Utime.Nano() + used.Stime.Nano())
	}
	return all
}
