package server

import (
	"context"
	"testing"
	"time"

	"stoic/schema"
	"stoic/test/faults/apimodel"
)

// Patience is the limit for what only a busy machine delays: thousands of objects under the race detector.
const Patience = 2 * time.Minute

// Await waits until a condition holds. It fails the test after Patience.
func Await(t testing.TB, what string, holds func() bool) {
	t.Helper()
	for deadline := time.Now().Add(Patience); time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) {
		if holds() {
			return
		}
	}
	t.Fatalf("waited in vain for %s", what)
}

// Background runs f until the test ends, or stop is called.
func Background(t testing.TB, f func(context.Context)) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		f(ctx)
	}()
	stop = func() {
		cancel()
		<-done
	}
	t.Cleanup(stop)
	return stop
}

// ResourceOf returns how the model names a resource of the engine.
func ResourceOf(r schema.Resource, status bool) apimodel.Resource {
	return apimodel.Resource{Group: r.Group, Version: r.Version, Plural: r.Plural, Kind: r.Kind, Namespaced: !r.Cluster, Status: status}
}
