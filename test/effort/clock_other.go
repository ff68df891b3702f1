//go:build !linux

package effort

import (
	"testing"
	"time"
)

// spent returns wall-clock time, where threads have no CPU clock.
func spent(testing.TB) time.Duration { return time.Since(began) }

var began = time.Now()
