package controller

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"stoic/schema"
)

// A job whose name fits no label has no children, and the way around a lost watch must not end in an error for it.
func TestLiveReadOfALongName(t *testing.T) {
	s := newAPIServer(t)
	c := newTestController(t, s, nil)
	s.refuse = func(verb, resource, name string) *refusing {
		return &refusing{http.StatusBadRequest, metav1.StatusReasonBadRequest, "unable to parse requirement"}
	}
	if found, err := c.children.live(t.Context(), "ns", strings.Repeat("n", 64), "u"); err != nil || len(found.pods)+len(found.services) > 0 {
		t.Errorf("%+v %v", found, err)
	}
}

// An owner reference holds within a namespace. A pod elsewhere that claims our job as its owner is not looked at: it
// could end, or begin, the job of another tenant.
func TestChildrenLiveInTheNamespaceOfTheirOwner(t *testing.T) {
	s := newAPIServer(t)
	start(t, newTestController(t, s, nil))
	s.put(job("a", 1, `{}`))
	eventually(t, "the pod", func() bool { return len(s.names("pods")) == 1 })
	s.locked(func() {
		text, _ := json.Marshal(s.objects[podsPath+"a-worker-0"])
		var forged map[string]any
		_ = json.Unmarshal(text, &forged)
		meta := forged["metadata"].(map[string]any)
		meta["namespace"], meta["uid"] = "elsewhere", "z" // behind the other in every order
		forged["status"] = map[string]any{"phase": "Succeeded"}
		s.store("/api/v1/namespaces/elsewhere/pods/a-worker-0", forged)
	})
	s.phase("a-worker-0", "Running") // later than the other: when it has been seen so has the other
	eventually(t, "Running", func() bool { st := s.head("a"); return st.Is(schema.Running) || st.Is(schema.Succeeded) })
	if st := s.head("a"); st.Is(schema.Succeeded) {
		t.Error("the job was ended by a pod in another namespace")
	}
}
