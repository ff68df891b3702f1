package controller

import (
	"net/http"
	"sync/atomic"
	"testing"
)

// TestSmallJobIsMadeAtOnce: all objects of a job of five replicas are requested before the first answer arrives.
func TestSmallJobIsMadeAtOnce(t *testing.T) {
	s := newAPIServer(t)
	const objects = 10
	var asked atomic.Int32
	all := make(chan struct{})
	s.refuse = func(verb, resource, _ string) *refusing {
		if verb == http.MethodPost && (resource == "pods" || resource == "services") {
			if asked.Add(1) == objects {
				close(all)
			}
			select {
			case <-all:
			case <-t.Context().Done():
			}
		}
		return nil
	}
	s.put(job("a", objects/2, `{}`))
	start(t, newTestController(t, s, nil))
	eventually(t, "all objects to be asked for before any is there", func() bool { return asked.Load() == objects })
}
