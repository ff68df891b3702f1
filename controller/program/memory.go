package program

import (
	"errors"
	"math"

	"github.com/KimMachineGun/automemlimit/memlimit"
	"go.uber.org/zap"
)

const (
	// memoryShare is the share of the container's memory that the Go runtime tries to stay within. The rest is for what the runtime
	// does not count: the program itself, the kernel's buffers of its connections.
	memoryShare = 0.9
	// minMemory is the lowest limit that is used: a collector that tries to keep a lower one never stops.
	minMemory = 16 << 20
)

// KeepWithinMemory makes the garbage collector work harder before the kernel would end the process, if the container has a memory limit.
// GOMEMLIMIT takes precedence.
func KeepWithinMemory(log *zap.Logger) { keepWithin(memlimit.FromCgroup, log) }

func keepWithin(container memlimit.Provider, log *zap.Logger) {
	limit, err := memlimit.Set(memlimit.WithProvider(container), memlimit.WithRatio(memoryShare), memlimit.WithMin(minMemory))
	switch {
	case errors.Is(err, memlimit.ErrNoCgroup), errors.Is(err, memlimit.ErrCgroupsNotSupported):
	case err != nil:
		log.Warn("the memory limit of the container cannot be read; GOMEMLIMIT is not set", zap.Error(err))
	case limit < math.MaxInt64:
		log.Info("memory", zap.Int64("GOMEMLIMIT", limit))
	}
}
