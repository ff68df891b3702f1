package controller

import (
	"net/http"
	"testing"
)

// TestBegun: a job has priority once its status is on record, or has just been written by this process.
func TestBegun(t *testing.T) {
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
	eventually(t, "the job in the cache", func() bool { return l.objects.Get("ns/begun") != nil })
	uid := l.objects.Get("ns/begun").Meta.UID
	eventually(t, "the answer to the write of its status", func() bool { at, _ := l.store.Written(uid); return !at.IsZero() })
	if l.objects.Get("ns/begun").Begun {
		t.Fatal("the cache shows what is held back")
	}
	if !l.begun("ns/begun") {
		t.Error("a job whose status is on its way to the cache has not begun")
	}
	l.store.Forget(uid)
	if l.begun("ns/begun") {
		t.Error("a job without a status has begun")
	}
	if l.begun("ns/unknown") {
		t.Error("a job that is not there has begun")
	}
	s.locked(func() { s.refuse, s.held["tfjobs"] = nil, false })
	eventually(t, "Created in the cache", func() bool { return l.objects.Get("ns/begun").Begun })
	l.store.Forget(uid)
	if !l.begun("ns/begun") {
		t.Error("a job with a status has not begun")
	}
}
