package controller

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"stoic/controller/election"
	"stoic/test/faults/apimodel/server"
)

const leasePath = "/apis/coordination.k8s.io/v1/namespaces/ns/leases/l"

// holder returns the holder of the lease.
func (s *apiServer) holder() string { return s.ofLease("holderIdentity") }

func (s *apiServer) ofLease(field string) (value string) {
	s.Locked(func() {
		spec, _ := s.At(leasePath)["spec"].(map[string]any)
		value, _ = spec[field].(string)
	})
	return value
}

// TestStopBeginsNoReconcile: a graceful stop begins no new reconcile, however many wait.
func TestStopBeginsNoReconcile(t *testing.T) {
	s := newAPIServer(t)
	slow := make(chan struct{})
	s.refuse = func(verb, resource, name string) *refusing {
		if verb == http.MethodPatch {
			<-slow
		}
		return nil
	}
	c := newTestController(t, s, nil)
	for i := range 200 {
		s.put(job("a"+strings.Repeat("x", i%40)+string(rune('a'+i/40)), 1, `{}`))
	}
	stop := start(t, c)
	server.Await(t, "two reconciles that hang", func() bool { return s.count("PATCH tfjobs") == 2 })
	server.Await(t, "a queue", func() bool { return c.watchers[0].queue.Len() > 100 })
	stopped := make(chan error, 1)
	go func() { stopped <- stop() }()
	server.Await(t, "the stop to begin", c.watchers[0].queue.ShuttingDown)
	close(slow)
	if err := <-stopped; err != nil {
		t.Error(err)
	}
	if n := s.count("PATCH tfjobs"); n != 2 {
		t.Errorf("%d reconciles, want the 2 that ran when the stop came", n)
	}
	if n := len(s.names("pods")); n != 2 {
		t.Errorf("%d pods: the reconciles that had begun were to be finished", n)
	}
}

// TestLeaseIsReleasedAfterTheLastWrite: the lease is held until the last write is complete.
func TestLeaseIsReleasedAfterTheLastWrite(t *testing.T) {
	s := newAPIServer(t)
	slow := make(chan struct{})
	holderThen := ""
	s.refuse = func(verb, resource, name string) *refusing {
		if verb == http.MethodPost && resource == "pods" {
			<-slow
			holderThen = s.holder()
		}
		return nil
	}
	c := newTestController(t, s, func(o *Options) { o.Lease = &election.Lease{Namespace: "ns", Name: "l"} })
	stop := start(t, c)
	s.put(job("a", 1, `{}`))
	server.Await(t, "a reconcile that hangs", func() bool { return s.count("POST pods") == 1 })
	time.AfterFunc(300*time.Millisecond, func() { close(slow) })
	if err := stop(); err != nil {
		t.Error(err)
	}
	if holderThen != "me" || s.holder() != "" {
		t.Errorf("during the last write the lease was held by %q, after it by %q", holderThen, s.holder())
	}
}

// TestDeposedLeaderStopsAtOnce: a leader that cannot renew its lease stops writing before another process may begin, and does not release
// the lease while a write is under way.
func TestDeposedLeaderStopsAtOnce(t *testing.T) {
	s := newAPIServer(t)
	c := newTestController(t, s, func(o *Options) { o.Lease = &election.Lease{Namespace: "ns", Name: "l"} })
	c.timing = election.Timing{Duration: 10 * time.Minute, Renew: 2 * time.Second, Retry: 200 * time.Millisecond}
	c.grace = time.Hour // which is for a graceful stop
	ended := make(chan error, 1)
	go func() { ended <- c.Run(context.Background()) }()
	s.put(job("a", 1, `{}`))
	server.Await(t, "the pod", func() bool { return len(s.names("pods")) == 1 })

	hang := make(chan struct{})
	defer close(hang)
	s.Locked(func() {
		s.refuse = func(verb, resource, name string) *refusing {
			switch {
			case verb == http.MethodPut && resource == "leases":
				return &refusing{http.StatusInternalServerError, metav1.StatusReasonInternalError, "no"}
			case verb == http.MethodPost && resource == "pods":
				<-hang
			}
			return nil
		}
	})
	s.put(job("b", 1, `{}`))
	server.Await(t, "a reconcile that hangs", func() bool { return s.count("POST pods") == 2 })
	select {
	case err := <-ended:
		if !errors.Is(err, election.ErrLeaseLost) {
			t.Errorf("ended with %v", err)
		}
	case <-time.After(server.Patience):
		t.Fatal("a deposed leader continues its reconcile")
	}
	renewed, err := time.Parse(metav1.RFC3339Micro, s.ofLease("renewTime"))
	if err != nil {
		t.Fatal(err)
	}
	if late := time.Since(renewed.Add(c.timing.Duration)); late > 0 {
		t.Errorf("it ended %v after its lease", late)
	}
	if s.holder() != "me" {
		t.Error("the lease was given away by a leader that did not know whether its last write was out")
	}
}

// TestStopHasAnEnd: a reconcile that hangs at the stop does not keep the lease from being released.
func TestStopHasAnEnd(t *testing.T) {
	s := newAPIServer(t)
	hang := make(chan struct{})
	defer close(hang)
	s.refuse = func(verb, resource, name string) *refusing {
		if verb == http.MethodPost && resource == "pods" {
			<-hang
		}
		return nil
	}
	c := newTestController(t, s, func(o *Options) { o.Lease = &election.Lease{Namespace: "ns", Name: "l"} })
	c.grace = 200 * time.Millisecond
	stop := start(t, c)
	s.put(job("a", 1, `{}`))
	server.Await(t, "a reconcile that hangs", func() bool { return s.count("POST pods") == 1 })
	if err := stop(); err != nil {
		t.Error(err)
	}
	if s.holder() != "" {
		t.Errorf("the lease is still held by %q", s.holder())
	}
}
