package controller

import (
	"net/http"
	"testing"

	"stoic/controller/queue"
)

// TestPlace: a job has priority once its status is on record, or has just been written by this process.
func TestPlace(t *testing.T) {
	s := newAPIServer(t)
	s.refuse = func(verb, resource, _ string) *refusing {
		if verb == http.MethodPatch && resource == "tfjobs/status" { // what is written is not shown
			s.locked(func() { s.held["tfjobs"] = true })
		}
		return nil
	}
	s.put(job("begun", 1, `{}`))
	c := newTestController(t, s, nil)
	l := c.watchers[0]
	start(t, c)
	const ahead = "ns/" + queue.Priority + "/begun"
	eventually(t, "the job in the cache", func() bool { return l.objects.Get("ns/begun") != nil })
	uid := l.objects.Get("ns/begun").Meta.UID
	eventually(t, "the answer to the write of its status", func() bool { at, _ := l.store.Written(uid); return !at.IsZero() })
	if l.objects.Get("ns/begun").Begun {
		t.Fatal("the cache shows what is held back")
	}
	if got := l.place("ns/begun"); got != ahead {
		t.Errorf("a job whose status is on its way to the cache: %q", got)
	}
	l.store.Forget(uid)
	if got := l.place("ns/begun"); got != "ns/begun" {
		t.Errorf("a job that has not begun: %q", got)
	}
	if got := l.place("ns/unknown"); got != "ns/unknown" {
		t.Errorf("a job that is not there: %q", got)
	}
	s.locked(func() { s.refuse, s.held["tfjobs"] = nil, false })
	eventually(t, "Created in the cache", func() bool { return l.objects.Get("ns/begun").Begun })
	l.store.Forget(uid)
	if got := l.place("ns/begun"); got != ahead {
		t.Errorf("a job that has begun: %q", got)
	}
}
