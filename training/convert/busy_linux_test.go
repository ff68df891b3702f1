package convert

import (
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// busy returns the CPU time of this thread, to which the caller must be locked. Unlike wall-clock time, it does not
// advance while other processes have the CPU.
func busy(t testing.TB) time.Duration {
	var now unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &now); err != nil {
		t.Fatal("read the thread's clock:", err)
	}
	return time.Duration(now.Nano())
}
