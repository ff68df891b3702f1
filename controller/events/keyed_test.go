package events

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"stoic/schema"
)

// waitingPods returns an event about so many pods that wait, for one reason.
func waitingPods(n int) schema.Event {
	return schema.Event{Type: "Warning", Reason: "PodUnschedulable", Message: fmt.Sprintf("%d pods wait", n), Key: "pods", Occasion: "start",
		Since: time.Now(), Count: &schema.Count{Counter: "pods", Reason: "PodUnschedulable"}}
}

// messages returns the messages that the server has, in order.
func (s *eventServer) messages() (all []string) {
	for _, event := range s.events() {
		all = append(all, event.Message)
	}
	slices.Sort(all)
	return all
}

// counting makes an emitter count.
func counting(e *Emitter) (counts func() []string) {
	var mu sync.Mutex
	var all []string
	e.count = func(head *schema.Head, c schema.Count) {
		mu.Lock()
		defer mu.Unlock()
		all = append(all, fmt.Sprint(head.Resource.Kind, " ", head.Key(), " ", c.Counter, " ", c.Reason))
	}
	return func() []string {
		mu.Lock()
		defer mu.Unlock()
		return slices.Clone(all)
	}
}

// TestOneEventOfAKey: of one key one event is sent, with the message that was planned last, whatever follows it and whichever process
// sends it; and it is counted once.
func TestOneEventOfAKey(t *testing.T) {
	s := newEventServer(t, nil)
	first, second := newTestEmitter(t, s, time.Now), newTestEmitter(t, s, time.Now)
	counts, again := counting(first), counting(second)
	const settle = 100 * time.Millisecond
	var planned []schema.Event
	for n := range 3 {
		event := waitingPods(n + 1)
		event.Settle = settle
		planned = append(planned, event)
	}
	began := time.Now()
	first.Emit(headOf("a"), planned)
	first.Drain(context.Background(), patient)
	if took := time.Since(began); took < settle {
		t.Errorf("it was sent after %s, and was to settle for %s", took, settle)
	}
	if diff := cmp.Diff([]string{"3 pods wait"}, s.messages()); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
	first.Emit(headOf("a"), []schema.Event{waitingPods(1000)}) // it was sent
	first.Drain(context.Background(), patient)
	second.Emit(headOf("a"), []schema.Event{waitingPods(4)}) // after a restart
	second.Drain(context.Background(), patient)
	if len(s.messages()) != 1 {
		t.Errorf("%q", s.messages())
	}
	if diff := cmp.Diff([]string{"TFJob ns/a pods PodUnschedulable"}, append(counts(), again()...)); diff != "" {
		t.Errorf("counted (-want +got):\n%s", diff)
	}
	other, later := waitingPods(5), waitingPods(6)
	other.Key, later.Occasion = "services", "restart"
	first.Emit(headOf("a"), []schema.Event{other, later})
	first.Drain(context.Background(), patient)
	if diff := cmp.Diff([]string{"3 pods wait", "5 pods wait", "6 pods wait"}, s.messages()); diff != "" {
		t.Errorf("another key and another occasion (-want +got):\n%s", diff)
	}
}

// TestCountedAlthoughTheAnswerWasLost: the second request finds the event of the first.
func TestCountedAlthoughTheAnswerWasLost(t *testing.T) {
	s := newEventServer(t, func(post int) int {
		if post == 1 {
			return cutOff
		}
		return 0
	})
	e := newTestEmitter(t, s, time.Now)
	counts := counting(e)
	e.Emit(headOf("a"), []schema.Event{waitingPods(1)})
	e.Drain(context.Background(), patient)
	if got := counts(); len(got) != 1 || s.posts != 2 {
		t.Errorf("%d requests, counted %v", s.posts, got)
	}
}
