package convert

import (
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// busy is the processor time of this thread so far, to which the caller must be locked. Unlike the time on the wall
// it does not pass while other processes have the processor.
func busy(t testing.TB) time.Duration {
	var now unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &now); err != nil {
		t.Fatal("read the thread's clock:", err)
	}
	return time.Duration(now.Nano())
}
