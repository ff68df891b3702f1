//go:build !linux

package convert

import (
	"testing"
	"time"
)

// busy is the time on the wall, where a thread has no clock of its own.
func busy(testing.TB) time.Duration { return time.Since(began) }

var began = time.Now()
