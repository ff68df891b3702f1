package controller

import (
	"net/http"
	"slices"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"stoic/controller/apply"
	"stoic/schema"
	"stoic/test/faults/apimodel/server"
	"stoic/training"
	"stoic/training/kinds"
)

// These tests are about errors of earlier operators that no other test covers; see test/faults/seeded.

// TestListsAreNotOfThePast: client-go lists from any cache, which may show a past in which deleted objects still exist.
func TestListsAreNotOfThePast(t *testing.T) {
	s := newAPIServer(t)
	start(t, newTestController(t, s, nil))
	s.put(job("a", 1, `{}`))
	server.Await(t, "the pod", func() bool { return len(s.names("pods")) == 1 })
	s.Locked(func() {
		for _, resource := range []string{"pods", "services", "tfjobs"} {
			if !slices.Contains(s.lists, resource+" ") || slices.Contains(s.lists, resource+" 0") {
				t.Errorf("%s: lists were %q", resource, s.lists)
			}
		}
	})
}

// TestTimeoutIsNoSuccess: a request that timed out may have done its work or not. It is no success until the result was
// seen.
func TestTimeoutIsNoSuccess(t *testing.T) {
	s := newAPIServer(t)
	c := newTestController(t, s, nil)
	l := c.watchers[0]
	for _, reason := range []metav1.StatusReason{metav1.StatusReasonTimeout, metav1.StatusReasonServerTimeout} {
		s.refuse = func(string, string, string) *refusing { return &refusing{http.StatusGatewayTimeout, reason, "in vain"} }
		if _, err := l.apply(t, l.seen(someHead()), podOf()); apply.ClassOf(err) != apply.Retry {
			t.Errorf("%s: error: %v", reason, err)
		}
		if n := counted(t, c, "training_operator_events_backlog"); n != 0 {
			t.Errorf("%s: %v events, as of a pod that was created", reason, n)
		}
	}
}

// TestSameNameIsNotSameJob: the pod of a deleted job is no pod of the next job of that name, whatever it has done.
func TestSameNameIsNotSameJob(t *testing.T) {
	s := newAPIServer(t)
	old := owned("a-worker-0", "old", "TFJob", "a", kinds.TFJob().Controller)
	old["status"] = map[string]any{"phase": "Succeeded"}
	s.Locked(func() { s.Store(podsPath+"a-worker-0", old) })
	start(t, newTestController(t, s, nil))
	s.put(job("a", 1, `{}`))
	server.Await(t, "an attempt to make the pod", func() bool {
		st := s.head("a")
		return s.count("POST pods") > 0 || st.Is(training.Succeeded)
	})
	if st := s.head("a"); st.Is(training.Succeeded) || s.count("DELETE pods") > 0 {
		t.Fatal("the pod of the deleted job was taken for one of this job")
	}
	s.Locked(func() { s.Drop(podsPath + "a-worker-0") })
	server.Await(t, "a pod of its own", func() bool { return len(s.names("pods")) == 1 })
}

func TestLiveReadKnowsTheOwner(t *testing.T) {
	s := newAPIServer(t)
	s.Locked(func() {
		for name, owner := range map[string]string{"a-worker-0": "mine", "a-worker-1": "old", "a-worker-2": ""} {
			s.Store(podsPath+name, owned(name, owner, "TFJob", "a", kinds.TFJob().Controller))
			s.Store("/api/v1/namespaces/ns/services/"+name, owned(name, owner, "TFJob", "a", kinds.TFJob().Controller))
		}
	})
	for _, d := range newTestController(t, s, nil).dependents {
		found, newest, err := d.Read(t.Context(), someHead())
		if err != nil || len(found.Items) != 1 || found.Items[0].Name != "a-worker-0" || newest != found.Items[0].ResourceVersion {
			t.Errorf("%s at %s: %v, error %v", d.Resource.Plural, newest, found, err)
		}
	}
}

// TestNoEventBeforeItsStatusIsOnRecord: an event that is emitted before its status is on record is emitted again, after
// a conflict, by another reconcile.
func TestNoEventBeforeItsStatusIsOnRecord(t *testing.T) {
	s := newAPIServer(t)
	c := newTestController(t, s, nil)
	l := c.watchers[0]
	s.refuse = func(string, string, string) *refusing {
		return &refusing{http.StatusInternalServerError, metav1.StatusReasonInternalError, "not now"}
	}
	todo := schema.Plan{Status: statusAt(5, "A"), Events: []schema.Event{{Type: "Normal", Reason: "TFJobSucceeded", Message: "done"}}}
	if _, err := l.apply(t, someHead(), todo); apply.ClassOf(err) != apply.Retry {
		t.Errorf("error: %v", err)
	}
	if n := counted(t, c, "training_operator_events_backlog"); n > 0 {
		t.Errorf("%v events of what is not on record", n)
	}
	s.Locked(func() { s.refuse = nil })
	s.put(job("a", 1, `{}`))
	head := someHead()
	head.Meta.ResourceVersion = s.storedVersion()
	_, err := l.apply(t, head, todo)
	if n := counted(t, c, "training_operator_events_backlog"); err != nil || n != 1 {
		t.Errorf("error %v, %v events of what is on record", err, n)
	}
}

// TestReconcileOfWhatIsGone: a key may be queued although its job is gone: deleted while an event of its pod was on the
// way.
func TestReconcileOfWhatIsGone(t *testing.T) {
	s := newAPIServer(t)
	c := newTestController(t, s, nil)
	l := c.watchers[0]
	if requeue, err := l.reconcile(t.Context(), "ns/gone"); requeue != 0 || err != nil {
		t.Errorf("before any watch: requeued after %s, error %v", requeue, err)
	}
	start(t, c)
	server.Await(t, "the watch", func() bool { return l.objects.Ready() && l.objects.Version() != "" })
	if requeue, err := l.reconcile(t.Context(), "ns/gone"); requeue != 0 || err != nil {
		t.Errorf("requeued after %s, error %v", requeue, err)
	}
}
