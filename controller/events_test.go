package controller

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"stoic/controller/events"
	"stoic/schema"
)

// TestRequeueForEvents: a reconcile whose events found no room is requeued for them, and nothing else waits for that.
func TestRequeueForEvents(t *testing.T) {
	s := newAPIServer(t)
	c := newTestController(t, s, nil)
	l := c.watchers[0]
	flood := make([]schema.Event, 0, 32) // as much as may wait; all share one text, which is counted each time
	text := strings.Repeat("x", 10<<20)
	for i := range cap(flood) {
		flood = append(flood, schema.Event{Type: "Normal", Reason: "Flood", Message: text, Occasion: fmt.Sprint(i)})
	}
	c.emitter.Emit(resultOf("other", "1").Head, flood)
	derived := []schema.Event{{Type: "Warning", Reason: "A", Message: "first", Since: time.Now()}, {Type: "Warning", Reason: "A", Message: "second", Since: time.Now()}}
	reconcile := func(requeue time.Duration) time.Duration {
		again, err := l.apply(t, someHead(), schema.Plan{Events: derived, Requeue: requeue})
		if err != nil {
			t.Fatal(err)
		}
		return again
	}
	for requeue, want := range map[time.Duration]time.Duration{0: events.RequeueForEvents, time.Hour: events.RequeueForEvents, time.Second: time.Second} {
		if got := reconcile(requeue); got != want {
			t.Errorf("a plan that is to be looked at again in %s is so in %s, want %s", requeue, got, want)
		}
	}
	messages := emitting(t, s, c)
	if sent := messages(); len(sent) != len(flood) {
		t.Fatalf("%d events were sent, want %d", len(sent), len(flood))
	}
	if got := reconcile(0); got != 0 {
		t.Errorf("once there is room: requeued after %s", got)
	}
	if sent := messages(); !slices.Contains(sent, "first") || !slices.Contains(sent, "second") {
		t.Errorf("%d events were sent, and not both of the reconcile that was requeued", len(sent))
	}
}
