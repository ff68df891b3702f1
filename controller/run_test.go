package controller

import (
	"fmt"
	"net/http"
	"slices"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"stoic/schema"
)

func TestJobFromBeginningToEnd(t *testing.T) {
	s := newAPIServer(t)
	stop := start(t, newTestController(t, s, nil))
	s.put(job("a", 2, `{"cleanPodPolicy":"All"}`))
	eventually(t, "the children", func() bool { return len(s.names("pods")) == 2 && len(s.names("services")) == 2 })
	s.phase("a-worker-0", "Running")
	eventually(t, "Running", func() bool { st := s.head("a"); return st.Is(schema.Running) })
	s.phase("a-worker-0", "Succeeded")
	eventually(t, "Succeeded", func() bool { st := s.head("a"); return st.Is(schema.Succeeded) })
	eventually(t, "no children", func() bool { return len(s.names("pods"))+len(s.names("services")) == 0 })
	if err := stop(); err != nil {
		t.Error(err)
	}
	if n := len(s.names("events")); n < 4 { // created pods and services, deleted pods and services, succeeded
		t.Errorf("%d events: %v", n, s.names("events"))
	}
}

// A name that somebody else has must not keep the other replicas from being created.
func TestTakenNameBlocksNobodyElse(t *testing.T) {
	for _, workers := range []int{3, atOnce} { // all at once; and one, then two, and so on
		t.Run(fmt.Sprint(workers), func(t *testing.T) {
			s := newAPIServer(t)
			s.locked(func() {
				s.store("/api/v1/namespaces/ns/services/a-worker-0", map[string]any{"apiVersion": "v1", "kind": "Service", "metadata": map[string]any{"name": "a-worker-0", "namespace": "ns"}})
			})
			start(t, newTestController(t, s, nil))
			s.put(job("a", workers, `{}`))
			eventually(t, "all pods and the other services", func() bool { return len(s.names("pods")) == workers && len(s.names("services")) == workers })
		})
	}
}

// What is refused for a reason that holds for all costs one request a pass.
func TestQuotaCostsOneRequestAPass(t *testing.T) {
	s := newAPIServer(t)
	s.refuse = func(verb, resource, name string) *refusing {
		if verb == http.MethodPost && resource != "events" {
			return &refusing{http.StatusForbidden, metav1.StatusReasonForbidden, "exceeded quota: small"}
		}
		return nil
	}
	start(t, newTestController(t, s, nil))
	s.put(job("a", 400, `{}`))
	eventually(t, "three tries", func() bool { return s.count("POST services") >= 3 })
	if n := s.count("POST pods"); n > 0 {
		t.Errorf("%d pods tried", n)
	}
	if n := s.count("POST services"); n > 6 {
		t.Errorf("%d requests", n)
	}
}

// A service account that is made a moment after the job: the wait is short.
func TestForbiddenIsTriedAgainSoon(t *testing.T) {
	s := newAPIServer(t)
	begin := time.Now()
	s.refuse = func(verb, resource, name string) *refusing {
		if verb == http.MethodPost && resource == "pods" && time.Since(begin) < 5*safetyNet/2 { // longer than any other pass waits
			return &refusing{http.StatusForbidden, metav1.StatusReasonForbidden, `error looking up service account ns/default: serviceaccount "default" not found`}
		}
		return nil
	}
	start(t, newTestController(t, s, nil))
	s.put(job("a", 2, `{}`))
	eventually(t, "the pods", func() bool { return len(s.names("pods")) == 2 })
}

// A deadline holds also for a job that cannot have its pods.
func TestDeadlineHoldsWhileCreationFails(t *testing.T) {
	for _, code := range []int{http.StatusUnprocessableEntity, http.StatusInternalServerError} {
		s := newAPIServer(t)
		s.refuse = func(verb, resource, name string) *refusing {
			if verb == http.MethodPost && resource == "pods" {
				return &refusing{code, metav1.StatusReasonInvalid, "no"}
			}
			return nil
		}
		start(t, newTestController(t, s, nil))
		s.put(job("a", 1, `{"activeDeadlineSeconds":7}`))
		eventually(t, "Failed", func() bool { st := s.head("a"); return st.Is(schema.Failed) })
	}
}

// Without a status nothing is on record, so nothing may be done: a verdict that nobody remembers would be followed by
// new pods for ever.
func TestNoStatusSubresource(t *testing.T) {
	s := newAPIServer(t)
	s.noStatus = true
	start(t, newTestController(t, s, nil))
	s.put(job("a", 1, `{}`))
	eventually(t, "a try", func() bool { return s.count("PATCH tfjobs/status a") > 0 })
	eventually(t, "an event", func() bool { return len(s.names("events")) > 0 })
	if pods := s.names("pods"); len(pods) > 0 {
		t.Errorf("created %v without a record", pods)
	}
	s.locked(func() { s.noStatus = false })
	eventually(t, "the pods once there is a status", func() bool { return len(s.names("pods")) == 1 })
}

// A status that the API server refuses is told to the author.
func TestRefusedStatusIsTold(t *testing.T) {
	s := newAPIServer(t)
	s.refuse = func(verb, resource, name string) *refusing {
		if verb == http.MethodPatch && resource == "tfjobs/status" {
			return &refusing{http.StatusUnprocessableEntity, metav1.StatusReasonInvalid, "spec.x: a rule of the schema"}
		}
		return nil
	}
	start(t, newTestController(t, s, nil))
	s.put(job("a", 1, `{}`))
	eventually(t, "an event", func() bool { return len(s.names("events")) > 0 })
	if n := s.count("PATCH"); n != 1 {
		t.Errorf("%d tries, want 1", n)
	}
}

func TestTimeToLive(t *testing.T) {
	s := newAPIServer(t)
	c := newTestController(t, s, nil)
	start(t, c)
	s.put(job("a", 1, `{"ttlSecondsAfterFinished":0}`))
	eventually(t, "the pod", func() bool { return len(s.names("pods")) == 1 })
	s.phase("a-worker-0", "Succeeded")
	eventually(t, "the end of the job", func() bool { return len(s.names("tfjobs")) == 0 })
	eventually(t, "the count", func() bool { return counted(t, c, "training_operator_jobs_deleted_total") == 1 })
}

// While the watch is behind our own writes nothing is written, and when it goes on nothing is written twice.
func TestLaggingWatch(t *testing.T) {
	s := newAPIServer(t)
	start(t, newTestController(t, s, nil))
	eventually(t, "the watch", func() bool { return s.count("GET pods") > 0 })
	s.locked(func() { s.held["pods"] = true })
	s.put(job("a", 3, `{}`))
	eventually(t, "the pods", func() bool { return len(s.names("pods")) == 3 })
	time.Sleep(1500 * time.Millisecond)
	writes := s.count("P")
	s.locked(func() { s.held["pods"] = false })
	s.phase("a-worker-0", "Running")
	eventually(t, "Running", func() bool { st := s.head("a"); return st.Is(schema.Running) })
	if n := s.count("POST pods"); n != 3 {
		t.Errorf("%d pods posted", n)
	}
	if n := s.count("PATCH"); n < 2 || writes > 3+3+1+s.count("POST events") {
		t.Errorf("%d patches, %d writes", n, writes)
	}
}

// Watches that are never heard of again, right behind the creation of the children: nobody but the operator itself
// would look at the job again, and after patience it reads from the server.
func TestLostWatchIsReadAround(t *testing.T) {
	s := newAPIServer(t)
	var ahead time.Duration
	c := newTestController(t, s, func(o *Options) {
		o.Now = func() time.Time { s.mu.Lock(); defer s.mu.Unlock(); return time.Now().Add(ahead) }
	})
	start(t, c)
	eventually(t, "the watches", func() bool { return s.count("GET pods") > 0 && s.count("GET services") > 0 })
	s.refuse = func(verb, resource, name string) *refusing {
		if verb == http.MethodPatch {
			s.locked(func() { s.held["tfjobs"], s.held["pods"], s.held["services"] = true, true, true })
		}
		return nil
	}
	s.put(job("a", 1, `{}`))
	eventually(t, "the pod", func() bool { return len(s.names("pods")) == 1 })
	s.phase("a-worker-0", "Running")
	eventually(t, "a live read", func() bool {
		s.locked(func() { ahead += time.Second })
		st := s.head("a")
		return st.Is(schema.Running)
	})
	if !slices.Equal(s.names("pods"), []string{"a-worker-0"}) {
		t.Errorf("pods: %v", s.names("pods"))
	}
}

// A deletion that is refused with a conflict, though the object still is what was seen: no event follows, so nobody else
// would come back for it.
func TestConflictingDeletionIsTriedAgain(t *testing.T) {
	s := newAPIServer(t)
	refused := 0
	s.refuse = func(verb, resource, name string) *refusing {
		if verb == http.MethodDelete && resource == "services" && refused < 5 { // more often than events bring the job back
			refused++
			return &refusing{http.StatusConflict, metav1.StatusReasonConflict, "a webhook says so"}
		}
		return nil
	}
	start(t, newTestController(t, s, nil))
	s.put(job("a", 1, `{"cleanPodPolicy":"All"}`))
	eventually(t, "the pod", func() bool { return len(s.names("pods")) == 1 })
	s.phase("a-worker-0", "Succeeded")
	eventually(t, "no children", func() bool { return len(s.names("pods"))+len(s.names("services")) == 0 })
}
