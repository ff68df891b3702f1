package operator

import (
	"context"
	"fmt"
	"time"
)

// poll is the interval between two looks at a condition that no watch reports.
const poll = 50 * time.Millisecond

// Until polls a condition until it holds, and returns how long that took. The error says what was seen last. A look that began
// before the context ended, and ended after it, is not quoted: all that it saw is that the time is over.
func Until(ctx context.Context, what string, holds func() (ok bool, saw string)) (took time.Duration, err error) {
	began := time.Now()
	tick := time.NewTicker(poll)
	defer tick.Stop()
	saw := ""
	for {
		ok, now := holds()
		if ok {
			return time.Since(began), nil
		}
		if ctx.Err() == nil || saw == "" {
			saw = now
		}
		select {
		case <-ctx.Done():
			return time.Since(began), fmt.Errorf("waited %s for %s: %w; saw %s", time.Since(began).Round(time.Second), what, context.Cause(ctx), saw)
		case <-tick.C:
		}
	}
}

// Await is Until for a test, with a limit: it fails the test.
func Await(t test, limit time.Duration, what string, holds func() (ok bool, saw string)) {
	t.Helper()
	ctx, cancel := context.WithTimeoutCause(context.Background(), limit, fmt.Errorf("not within %s", limit))
	defer cancel()
	if _, err := Until(ctx, what, holds); err != nil {
		t.Fatal(err)
	}
}
