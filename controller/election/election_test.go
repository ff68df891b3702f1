package election

import (
	"testing"
	"time"
)

// TestDefaultTiming: in the worst case, the waits of a standby leave half a second to take the lease and to act.
func TestDefaultTiming(t *testing.T) {
	timing := DefaultTiming()
	if worst := timing.AfterRelease(); worst > 2500*time.Millisecond {
		t.Errorf("a standby waits up to %v after a graceful stop", worst)
	}
	if worst := timing.AfterKill(); worst > 16500*time.Millisecond {
		t.Errorf("a standby waits up to %v after a kill", worst)
	}
	// A leader stops before another process may begin, and one lost answer does not depose it.
	if timing.Renew >= timing.Duration || timing.Renew < 4*timing.Retry {
		t.Errorf("%+v", timing)
	}
}

// TestAfterKill: 10 s, and twice 1 s with a jitter of 1.2 s.
func TestAfterKill(t *testing.T) {
	timing := Timing{Duration: 10 * time.Second, Retry: time.Second}
	if got, want := timing.AfterKill(), 14400*time.Millisecond; got != want {
		t.Errorf("AfterKill is %v, want %v", got, want)
	}
}
