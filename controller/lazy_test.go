package controller

import "testing"

// TestNothingIsReadForAKindThatIsNotServed: what only objects of an unserved kind own is not read, and keeps nothing from being ready.
// When the kind is installed it is read. The operator then needs permissions of a kind only where the kind is installed.
func TestNothingIsReadForAKindThatIsNotServed(t *testing.T) {
	s := newAPIServer(t)
	s.serveVolcano()
	s.locked(func() { s.Unserve("tfjobs") })
	c := ganged(t, s)
	for _, owned := range c.options.Watches[0].Owns {
		owned.Optional = false
	}
	start(t, c)
	eventually(t, "readiness without the kind", func() bool { return c.notReady() == "" && c.watchers[0].objects.Ready() })
	if n := s.count("GET podgroups"); n > 0 {
		t.Errorf("podgroups are listed %d times for objects that cannot be", n)
	}
	s.locked(func() { s.Serve(tfjobs()) })
	s.put(job("a", 1, `{}`))
	eventually(t, "the group", func() bool { return len(s.names("podgroups")) == 1 })
	if s.hasEvent("TFJobFailedValidation") {
		t.Error("the author is told of a resource that is served")
	}
}
