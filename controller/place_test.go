package controller

import (
	"testing"

	"stoic/schema"
)

// TestPlace: a job goes ahead once its status is on record, or is being put there by this process.
func TestPlace(t *testing.T) {
	s := newAPIServer(t)
	s.put(job("begun", 1, `{}`))
	c := newTestController(t, s, nil)
	l := c.loops[0]
	start(t, c)
	eventually(t, "Created", func() bool { st := s.head("begun"); return st.Condition(schema.Created) != nil })
	caughtUp(t, s, c)
	if got := l.place("ns/begun"); got != "ns/"+ahead+"/begun" {
		t.Errorf("a job that has begun: %q", got)
	}
	if got := l.place("ns/unknown"); got != "ns/unknown" {
		t.Errorf("a job that is not there: %q", got)
	}
	result := l.result("ns/begun")
	eventually(t, "the pass that wrote it to have its answer", func() bool { at, _ := l.floors.recorded(result.Meta.UID); return !at.IsZero() })
	blank := *result
	head := *result.Head
	blank.Head = &head
	blank.Head.Status = schema.Status{}
	if err := (*l.objects.Load()).GetStore().Update(&blank); err != nil {
		t.Fatal(err)
	}
	if got := l.place("ns/begun"); got != "ns/"+ahead+"/begun" {
		t.Errorf("a job whose status is on its way to the cache: %q", got)
	}
	l.floors.forget(result.Meta.UID)
	if got := l.place("ns/begun"); got != "ns/begun" {
		t.Errorf("a job that has not begun: %q", got)
	}
}
