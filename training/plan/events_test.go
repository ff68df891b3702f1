package plan

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"stoic/schema"
	"stoic/training"
)

// TestMessagesAreBounded: texts from the user or from an edited status are cut and cleaned.
func TestMessagesAreBounded(t *testing.T) {
	w := newCluster()
	w.problems = []schema.Problem{{Path: strings.Repeat("p", 5000), Want: "be\nshort\x1b[31m"}}
	o := w.observe()
	p := Make(o)
	checkPlan(t, o, p)
	if n := len(p.Events[0].Message); n != maxMessage {
		t.Error("event of", n, "bytes")
	}
	for _, c := range p.Status.Conditions {
		if len(c.Message) > schema.MaxSummary {
			t.Error("condition of", len(c.Message), "bytes")
		}
	}
}

// TestCountedProblems: the report of problems and warnings does not depend on how many beyond the first are kept.
func TestCountedProblems(t *testing.T) {
	all := slices.Repeat([]schema.Problem{{Code: schema.Conflict, Path: "spec.a", Found: "x"}}, 12)
	for name, put := range map[string]func(*cluster){
		"problems": func(w *cluster) { w.problems = all },
		"warnings": func(w *cluster) { w.warnings = all },
	} {
		w := newCluster()
		put(w)
		whole, cut := w.observe(), w.observe()
		if name == "problems" {
			cut.Rejection.Problems, cut.Rejection.More = all[:schema.MaxReported], 7
		} else {
			cut.Head.Warnings, cut.Head.MoreWarnings = all[:schema.MaxReported], 7
		}
		want := Make(whole)
		if n := len(want.Events); n != schema.MaxReported+1 || !strings.Contains(want.Events[n-1].Message, "7 more "+name) {
			t.Errorf("%s: %+v", name, want.Events)
		}
		if diff := cmp.Diff(want, Make(cut)); diff != "" {
			t.Errorf("%s: -all kept +counted\n%s", name, diff)
		}
	}
}

// TestEventsArePlannedForAWhile: after a process ends with unsent events, the next one plans identical ones. It does so only
// while the API server certainly keeps events: later they would be created a second time.
func TestEventsArePlannedForAWhile(t *testing.T) {
	w := newCluster()
	w.problems = []schema.Problem{{Path: "spec.a", Want: "be an integer"}}
	first := w.step(t)
	for _, c := range []struct {
		age  time.Duration
		want bool
	}{
		{0, true}, {20 * time.Minute, true}, {tellFor - time.Second, true}, {tellFor, false}, {time.Hour, false},
		{-time.Minute, true}, {-tellAhead, false},
	} {
		w.now = epoch.Add(c.age)
		p := Make(w.observe())
		if p.Status != nil {
			t.Errorf("%s later: writes %+v", c.age, p.Status)
		}
		if (len(p.Events) == 1) != c.want {
			t.Errorf("%s later: %d events", c.age, len(p.Events))
		}
		if c.want {
			if diff := cmp.Diff(first.Events, p.Events); diff != "" {
				t.Errorf("%s later (-first +then):\n%s", c.age, diff)
			}
		}
	}
}

// TestPodsOfOneReasonAreOneEvent: the event has the same name whichever and however many pods cannot run, so that the API
// server rejects a second one.
func TestPodsOfOneReasonAreOneEvent(t *testing.T) {
	const words = "Pending problem=" + training.ReasonPodUnschedulable + "(no_node)"
	w := launched(t, "Running")
	var events []schema.Event
	for _, pods := range []map[string]string{
		{"j-worker-1": words}, {"j-worker-0": words, "j-worker-1": words}, {"j-worker-0": words, "j-worker-1": "Running"},
	} {
		for name, is := range pods {
			w.setPod(t, name, is)
		}
		for _, e := range w.step(t).Events {
			if e.Reason == training.ReasonPodUnschedulable {
				events = append(events, schema.Event{Reason: e.Reason, Key: e.Key, Occasion: e.Occasion})
			}
		}
	}
	if len(events) != 3 || events[0].Key == "" {
		t.Fatalf("%+v", events)
	}
	for _, e := range events[1:] {
		if diff := cmp.Diff(events[0], e); diff != "" {
			t.Errorf("(-first +then):\n%s", diff)
		}
	}
}
