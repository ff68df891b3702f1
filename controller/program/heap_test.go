package program

import (
	"context"
	"fmt"
	"runtime"
	"runtime/debug"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

// TestKeepSmall: memory is returned when all objects have been read and every minute after that, but not while a resource is read again.
// The collector is set only when its share changes, and within a second while objects are read.
func TestKeepSmall(t *testing.T) {
	for name, test := range map[string]struct {
		ours    bool // GOGC is not set
		changes []string
	}{
		"by what is in use": {true, []string{"0 s: 100", "12 s: 50", "270 s: 100"}},
		"GOGC is set":       {false, nil},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				began := time.Now()
				at := func() int { return int(time.Since(began) / time.Second) }
				unread := func() string {
					if at() < 30 || at() >= 100 && at() < 250 {
						return "tfjobs"
					}
					return ""
				}
				var freed []int
				var changes []string
				c := collector{free: func() { freed = append(freed, at()) }, inUse: func() uint64 {
					if at() >= 12 && at() < 240 {
						return largeHeap + 1
					}
					return largeHeap
				}}
				if test.ours {
					c.setPercent = func(percent int) { changes = append(changes, fmt.Sprintf("%d s: %d", at(), percent)) }
				}
				ctx, end := context.WithTimeout(t.Context(), 6*time.Minute)
				defer end()
				c.keepSmall(ctx, unread)
				if want := []int{30, 90, 270, 330}; !slices.Equal(freed, want) {
					t.Errorf("given back at %v, want %v", freed, want)
				}
				if diff := cmp.Diff(test.changes, changes); diff != "" {
					t.Errorf("the collector was set to (-want +got):\n%s", diff)
				}
			})
		})
	}
}

// TestGoCollector: the collector of this process knows what is in use, and respects GOGC.
func TestGoCollector(t *testing.T) {
	before := debug.SetGCPercent(100)
	defer debug.SetGCPercent(before)
	t.Setenv("GOGC", "")
	c := goCollector()
	const size = 48 << 20
	held := make([]byte, size)
	runtime.GC()
	if n := c.inUse(); n < size {
		t.Errorf("%d bytes are in use, want at least %d", n, size)
	}
	runtime.KeepAlive(held)
	c.setPercent(50)
	if got := debug.SetGCPercent(100); got != 50 {
		t.Errorf("the collector was set to %d percent, want 50", got)
	}
	t.Setenv("GOGC", "300")
	if goCollector().setPercent != nil {
		t.Error("GOGC is set, and not obeyed")
	}
}
