package controller

import (
	"encoding/json"
	"net/http"
	"slices"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"stoic/controller/plan"
	"stoic/schema"
)

// What other operators have got wrong in the past, where no other test looks; see test/faults/seeded.

// client-go asks for what any cache has, which may be a past in which deleted objects live.
func TestListsAreNotOfThePast(t *testing.T) {
	s := newAPIServer(t)
	start(t, newTestController(t, s, nil))
	s.put(job("a", 1, `{}`))
	eventually(t, "the pod", func() bool { return len(s.names("pods")) == 1 })
	s.locked(func() {
		for _, resource := range []string{"pods", "services", "tfjobs"} {
			if !slices.Contains(s.lists, resource+" ") || slices.Contains(s.lists, resource+" 0") {
				t.Errorf("%s: lists were %q", resource, s.lists)
			}
		}
	})
}

// A request that timed out may have done its work or not. It has not succeeded before that was seen.
func TestTimeoutIsNoSuccess(t *testing.T) {
	s := newAPIServer(t)
	l := newTestController(t, s, nil).loops[0]
	for _, reason := range []metav1.StatusReason{metav1.StatusReasonTimeout, metav1.StatusReasonServerTimeout} {
		s.refuse = func(string, string, string) *refusing { return &refusing{http.StatusGatewayTimeout, reason, "in vain"} }
		made, err := l.createOne(t.Context(), someHead(), schema.Object{Resource: schema.Pods(), Namespace: "ns", Name: "a-worker-0",
			Body: json.RawMessage(`{"metadata":{"name":"a-worker-0"}}`)})
		if made || sortError(err) != retry {
			t.Errorf("%s: made: %v, error: %v", reason, made, err)
		}
	}
}

// The pod of a deleted job is no pod of the next job of that name, whatever it has done.
func TestSameNameIsNotSameJob(t *testing.T) {
	s := newAPIServer(t)
	old := owned("a-worker-0", "old", "TFJob", "a", schema.TFJob().Controller)
	old["status"] = map[string]any{"phase": "Succeeded"}
	s.locked(func() { s.store(podsPath+"a-worker-0", old) })
	start(t, newTestController(t, s, nil))
	s.put(job("a", 1, `{}`))
	eventually(t, "an attempt to make the pod", func() bool {
		st := s.head("a")
		return s.count("POST pods") > 0 || st.Is(schema.Succeeded)
	})
	if st := s.head("a"); st.Is(schema.Succeeded) || s.count("DELETE pods") > 0 {
		t.Fatal("the pod of the deleted job was taken for one of this job")
	}
	s.locked(func() { s.drop(podsPath + "a-worker-0") })
	eventually(t, "a pod of its own", func() bool { return len(s.names("pods")) == 1 })
}

func TestLiveReadKnowsTheOwner(t *testing.T) {
	s := newAPIServer(t)
	s.locked(func() {
		for name, owner := range map[string]string{"a-worker-0": "mine", "a-worker-1": "old", "a-worker-2": ""} {
			s.store(podsPath+name, owned(name, owner, "TFJob", "a", schema.TFJob().Controller))
			s.store("/api/v1/namespaces/ns/services/"+name, owned(name, owner, "TFJob", "a", schema.TFJob().Controller))
		}
	})
	found, err := newTestController(t, s, nil).children.live(t.Context(), "ns", "a", "mine")
	pods, services := found.pods, found.services
	if err != nil || len(pods) != 1 || len(services) != 1 || pods[0].Name != "a-worker-0" || services[0].Name != "a-worker-0" {
		t.Errorf("pods %v, services %v, error %v", pods, services, err)
	}
}

// An event that comes before its record is told again, after a conflict, by another pass.
func TestNothingIsToldBeforeItIsOnRecord(t *testing.T) {
	s := newAPIServer(t)
	c := newTestController(t, s, nil)
	s.refuse = func(string, string, string) *refusing {
		return &refusing{http.StatusInternalServerError, metav1.StatusReasonInternalError, "not now"}
	}
	todo := plan.Plan{Status: statusAt(5, "A"), Events: []plan.Event{{Type: "Normal", Reason: "TFJobSucceeded", Message: "done"}}}
	if _, err := c.loops[0].execute(t.Context(), plan.Observed{Head: someHead()}, todo); sortError(err) != retry {
		t.Errorf("error: %v", err)
	}
	if n := len(c.emitter.waiting); n > 0 {
		t.Errorf("%d events of what is not on record", n)
	}
	s.locked(func() { s.refuse = nil })
	s.put(job("a", 1, `{}`))
	seen := plan.Observed{Head: someHead()}
	seen.Head.Meta.ResourceVersion = s.storedVersion()
	if _, err := c.loops[0].execute(t.Context(), seen, todo); err != nil || len(c.emitter.waiting) != 1 {
		t.Errorf("error %v, %d events of what is on record", err, len(c.emitter.waiting))
	}
}

// A key may be queued and its job gone: deleted while an event of its pod was on the way.
func TestPassOverWhatIsGone(t *testing.T) {
	s := newAPIServer(t)
	c := newTestController(t, s, nil)
	if again, err := c.loops[0].sync(t.Context(), "ns/gone"); again != 0 || err != nil {
		t.Errorf("before any watch: again in %s, error %v", again, err)
	}
	start(t, c)
	eventually(t, "the watch", func() bool { return c.loops[0].ready() && c.loops[0].objects.Load() != nil })
	if again, err := c.loops[0].sync(t.Context(), "ns/gone"); again != 0 || err != nil {
		t.Errorf("again in %s, error %v", again, err)
	}
}
