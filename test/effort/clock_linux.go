package effort

import (
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// spent returns the CPU time of this thread, to which the caller must be locked. Unlike wall-clock time, it does not
// advance while other processes have the CPU.
func spent(t testing.TB) time.Duration {
	t.Helper()
	var now unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &now); err != nil {
		t.Fatal("read the thread's clock:", err)
	}
	return time.Duration(now.Nano())
}
