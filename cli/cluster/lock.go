package cluster

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// errLocked says that another process holds the lock.
var errLocked = errors.New("another process holds it")

// lockInterval is how often a held lock is tried again. Waiting inside the
// kernel could not be cancelled.
const lockInterval = 100 * time.Millisecond

// acquire takes the lock that keeps two processes from building at the same time.
func acquire(ctx context.Context, path string, progress *steps) (*lock, error) {
	reported := time.Now().Add(-reportInterval)
	ticker := time.NewTicker(lockInterval)
	defer ticker.Stop()
	for {
		l, err := tryLock(path)
		if err == nil {
			return l, nil
		}
		if !errors.Is(err, errLocked) {
			return nil, fmt.Errorf("lock the build of the local control plane: %w", err)
		}
		if now := time.Now(); now.Sub(reported) >= reportInterval {
			reported = now
			progress.say("another process builds the local control plane; waiting for it")
		}
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("wait for another process's build: %w", context.Cause(ctx))
		case <-ticker.C:
		}
	}
}
