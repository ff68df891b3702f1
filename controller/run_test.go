package controller

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"stoic/controller/apply"
	"stoic/test/faults/apimodel/server"
	"stoic/training"
)

// TestTakenNameBlocksNoOther: a name that another object has does not keep the other replicas from being created.
func TestTakenNameBlocksNoOther(t *testing.T) {
	for _, workers := range []int{3, 16} { // all at once; and one, then two, and so on
		t.Run(fmt.Sprint(workers), func(t *testing.T) {
			s := newAPIServer(t)
			s.Locked(func() {
				s.Store("/api/v1/namespaces/ns/services/a-worker-0", map[string]any{"apiVersion": "v1", "kind": "Service", "metadata": map[string]any{"name": "a-worker-0", "namespace": "ns"}})
			})
			start(t, newTestController(t, s, nil))
			s.put(job("a", workers, `{}`))
			server.Await(t, "all pods and the other services", func() bool { return len(s.names("pods")) == workers && len(s.names("services")) == workers })
		})
	}
}

// TestQuotaCostsOneRequestAReconcile: a refusal for a reason that holds for all children costs one request per reconcile.
func TestQuotaCostsOneRequestAReconcile(t *testing.T) {
	s := newAPIServer(t)
	s.refuse = func(verb, resource, name string) *refusing {
		if verb == http.MethodPost && resource != "events" {
			return &refusing{http.StatusForbidden, metav1.StatusReasonForbidden, "exceeded quota: small"}
		}
		return nil
	}
	c := newTestController(t, s, nil)
	start(t, c)
	s.put(job("a", 400, `{}`))
	server.Await(t, "three tries", func() bool { return s.count("POST services") >= 3 })
	if n := s.count("POST pods"); n > 0 {
		t.Errorf("%d pods tried", n)
	}
	requests := s.count("POST services")
	if reconciles := c.reconciles(t); requests > reconciles {
		t.Errorf("%d requests in %d reconciles", requests, reconciles)
	}
}

// TestForbiddenIsTriedAgainSoon: a service account is created a moment after the job: the wait is short.
func TestForbiddenIsTriedAgainSoon(t *testing.T) {
	s := newAPIServer(t)
	begin := time.Now()
	s.refuse = func(verb, resource, name string) *refusing {
		if verb == http.MethodPost && resource == "pods" && time.Since(begin) < 5*apply.RequeueFallback/2 { // longer than any other reconcile waits
			return &refusing{http.StatusForbidden, metav1.StatusReasonForbidden, `error looking up service account ns/default: serviceaccount "default" not found`}
		}
		return nil
	}
	start(t, newTestController(t, s, nil))
	s.put(job("a", 2, `{}`))
	server.Await(t, "the pods", func() bool { return len(s.names("pods")) == 2 })
}

// TestNoStatusSubresource: without a status nothing is on record, so nothing may be done: a terminal condition that is not kept would be
// followed by new pods again and again.
func TestNoStatusSubresource(t *testing.T) {
	s := newAPIServer(t)
	statusless := tfjobs()
	statusless.Status = false
	s.Serve(statusless)
	c := newTestController(t, s, nil)
	start(t, c)
	s.put(job("a", 1, `{}`))
	server.Await(t, "an event", func() bool { return len(s.names("events")) > 0 })
	server.Await(t, "rest: the job waits for its back-off", func() bool { return c.watchers[0].queue.Len() == 0 && c.watchers[0].idle() })
	if n := s.count("POST events"); n != 1 {
		t.Errorf("%d events, want 1", n)
	}
	if n := s.count("PATCH"); n > 0 {
		t.Errorf("%d writes, though it is known that there is no place for a status", n)
	}
	if pods := s.names("pods"); len(pods) > 0 {
		t.Errorf("created %v without a record", pods)
	}
	s.Locked(func() { s.Serve(tfjobs()) })
	server.Await(t, "the pods once there is a status", func() bool { return len(s.names("pods")) == 1 })
}

// TestLaggingWatch: while the watch is behind our own writes nothing is written, and when it catches up nothing is written twice.
func TestLaggingWatch(t *testing.T) {
	s := newAPIServer(t)
	start(t, newTestController(t, s, nil))
	server.Await(t, "the watch", func() bool { return s.count("GET pods") > 0 })
	s.Locked(func() { s.Held["pods"] = true })
	s.put(job("a", 3, `{}`))
	server.Await(t, "the pods", func() bool { return len(s.names("pods")) == 3 })
	time.Sleep(1500 * time.Millisecond)
	writes := s.count("P")
	s.Locked(func() { s.Held["pods"] = false })
	s.phase("a-worker-0", "Running")
	server.Await(t, "Running", func() bool { st := s.head("a"); return st.Is(training.Running) })
	if n := s.count("POST pods"); n != 3 {
		t.Errorf("%d pods posted", n)
	}
	if n := s.count("PATCH"); n < 2 || writes > 3+3+1+s.count("POST events") {
		t.Errorf("%d patches, %d writes", n, writes)
	}
}

// TestRequestsOfOneJob: five pods start one after the other, as kubelets do it, and end so. What is known is not
// requested: ten creations, three writes of the status and three events.
func TestRequestsOfOneJob(t *testing.T) {
	const workers, statuses, events = 5, 3, 3
	s := newAPIServer(t)
	start(t, newTestController(t, s, nil))
	s.put(job("a", workers, `{"cleanPodPolicy":"None"}`))
	server.Await(t, "the pods and services", func() bool { return len(s.names("pods")) == workers && len(s.names("services")) == workers })
	for _, phase := range []string{"Running", "Succeeded"} {
		for i := range workers {
			s.phase(fmt.Sprint("a-worker-", workers-1-i), phase)
			if i == 0 && phase == "Running" {
				server.Await(t, "the job to run", func() bool { st := s.head("a"); return st.Is(training.Running) })
			}
		}
	}
	server.Await(t, "the end", func() bool { st := s.head("a"); return st.Is(training.Succeeded) })
	server.Await(t, "its event", func() bool { return s.count("POST events") >= events }) // they are sent beside the writes
	counts := map[string]int{}
	s.Locked(func() {
		for _, request := range s.seen {
			words := strings.Fields(request)
			counts[words[0]+" "+words[1]]++
			if words[0] == http.MethodGet && len(words) > 2 {
				t.Errorf("%s: what is known was asked for", request)
			}
		}
	})
	t.Log(counts)
	if counts["POST pods"] != workers || counts["POST services"] != workers || counts["PATCH tfjobs/status"]+counts["PATCH tfjobs"] != statuses || counts["POST events"] != events {
		t.Errorf("%v, want %d creations of each, %d writes of the status and %d events", counts, workers, statuses, events)
	}
}

// TestBegun: a job has priority once its status is on record, or has just been written by this process.
func TestBegun(t *testing.T) {
	s := newAPIServer(t)
	s.refuse = func(verb, resource, _ string) *refusing {
		if verb == http.MethodPatch && resource == "tfjobs/status" { // what is written is not shown
			s.Locked(func() { s.Held["tfjobs"] = true })
		}
		return nil
	}
	s.put(job("begun", 1, `{}`))
	c := newTestController(t, s, nil)
	l := c.watchers[0]
	start(t, c)
	server.Await(t, "the job in the cache", func() bool { return l.objects.Get("ns/begun") != nil })
	uid := l.objects.Get("ns/begun").Meta.UID
	server.Await(t, "the answer to the write of its status", func() bool { at, _ := l.store.Written(uid); return !at.IsZero() })
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
	s.Locked(func() { s.refuse, s.Held["tfjobs"] = nil, false })
	server.Await(t, "Created in the cache", func() bool { return l.objects.Get("ns/begun").Begun })
	l.store.Forget(uid)
	if !l.begun("ns/begun") {
		t.Error("a job with a status has not begun")
	}
}
