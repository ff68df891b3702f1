package plan

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"stoic/schema"
)

// TestMessagesAreBounded: what comes from the author or from an edited status is cut and cleaned.
func TestMessagesAreBounded(t *testing.T) {
	w := newWorld()
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

// TestEventsArePlannedForAWhile: a process that ends with events untold has a successor that plans the very same
// ones, for as long as the API server surely remembers them, and not longer: a second one would appear.
func TestEventsArePlannedForAWhile(t *testing.T) {
	w := newWorld()
	w.problems = []schema.Problem{{Path: "spec.a", Want: "be an integer"}}
	first := Make(w.observe())
	if err := w.apply(first); err != nil {
		t.Fatal(err)
	}
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
