package program

import (
	"errors"
	"os"
	"runtime/debug"
	"testing"

	"github.com/KimMachineGun/automemlimit/memlimit"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"
)

// TestKeepWithinMemory: nine tenths of the container's limit are set, and logged in one line; nothing is set without a limit, or if
// GOMEMLIMIT is set.
func TestKeepWithinMemory(t *testing.T) {
	initial := debug.SetMemoryLimit(-1)
	defer debug.SetMemoryLimit(initial)
	failing := func(err error) memlimit.Provider { return func() (uint64, error) { return 0, err } }
	for name, test := range map[string]struct {
		container memlimit.Provider
		explicit  string
		want      int64
		lines     int
	}{
		"a limit":          {memlimit.Limit(1_000_000_000), "", 900_000_000, 1},
		"GOMEMLIMIT":       {memlimit.Limit(1_000_000_000), "off", initial, 0},
		"no limit":         {failing(memlimit.ErrNoLimit), "", initial, 0},
		"no control group": {failing(memlimit.ErrNoCgroup), "", initial, 0},
		"hardly any":       {memlimit.Limit(4096), "", minMemory, 1},
		"not readable":     {failing(errors.New("read memory.max: plenty")), "", initial, 1},
	} {
		t.Run(name, func(t *testing.T) {
			debug.SetMemoryLimit(initial)
			t.Setenv("GOMEMLIMIT", test.explicit)
			if test.explicit == "" {
				os.Unsetenv("GOMEMLIMIT")
			}
			core, lines := observer.New(zap.InfoLevel)
			keepWithin(test.container, zap.New(core))
			if got := debug.SetMemoryLimit(-1); got != test.want || lines.Len() != test.lines {
				t.Errorf("limit %d, lines %v, want %d and %d lines", got, lines.All(), test.want, test.lines)
			}
		})
	}
}
