package plan

import (
	"strings"
	"testing"

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
