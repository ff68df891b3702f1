package cache

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	runtimeschema "k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
)

func TestReportErrors(t *testing.T) {
	from := watch.NewFakeWithChanSize(3, false)
	reported := make(chan error, 1)
	w := reportErrors(from, func(err error) { reported <- err })
	expired := apierrors.NewResourceExpired("too old resource version")
	from.Add(&metav1.PartialObjectMetadata{})
	from.Error(&expired.ErrStatus)
	from.Add(&metav1.PartialObjectMetadata{}) // it is not read: nothing may wait for that
	for _, want := range []watch.EventType{watch.Added, watch.Error} {
		if got := <-w.ResultChan(); got.Type != want {
			t.Errorf("an event of type %s, want %s", got.Type, want)
		}
	}
	if err := <-reported; !apierrors.IsResourceExpired(err) {
		t.Errorf("reported %v", err)
	}
	w.Stop()
	w.Stop()
	eventually(t, "the end of the events", func() bool {
		select {
		case _, open := <-w.ResultChan():
			return !open
		default:
			return false
		}
	})
	if !from.IsStopped() {
		t.Error("the decorated watch was not stopped")
	}
}

// TestInterruptedWatchIsLoggedOnce: a watch that fails every few seconds for hours is one log line, another for each other reason, and a
// reminder. Each failure is counted.
func TestInterruptedWatchIsLoggedOnce(t *testing.T) {
	core, logged := observer.New(zap.InfoLevel)
	a := newTestAvailability("TFJob")
	a.log, a.builtin = zap.New(core), true
	now := time.Unix(1_800_000_000, 0)
	a.now = func() time.Time { return now }
	forbidden := apierrors.NewForbidden(runtimeschema.GroupResource{Resource: "tfjobs"}, "", errors.New("no"))
	a.watch = func(_ context.Context, report func(error)) {
		for range 400 { // 20 minutes
			report(errors.New("connection refused"))
			now = now.Add(3 * time.Second)
		}
		report(forbidden)
		report(forbidden)
		report(nil)
		report(nil)
		report(forbidden)
	}
	a.once(t.Context())
	var said []string
	for _, line := range logged.FilterMessage("the watch was interrupted").All() {
		said = append(said, line.ContextMap()["error"].(string))
	}
	if want := []string{"connection refused", "connection refused", forbidden.Error(), forbidden.Error()}; !slices.Equal(said, want) {
		t.Errorf("logged %q, want %q", said, want)
	}
	if n := testutil.ToFloat64(a.watchErrors); n != 403 {
		t.Errorf("%v failures are counted, want 403", n)
	}
}
