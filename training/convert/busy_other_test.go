//go:build !linux

package convert

import (
	"testing"
	"time"
)

// busy returns wall-clock time, where threads have no CPU clock.
func busy(testing.TB) time.Duration { return time.Since(began) }

var began = time.Now()
