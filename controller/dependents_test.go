package controller

import (
	"maps"
	"testing"

	"stoic/test/faults/apimodel"
	"stoic/training"
	"stoic/training/kinds"
)

const groupsPath = "/apis/scheduling.volcano.sh/v1beta1/namespaces/ns/podgroups/"

// ganged returns a controller of TFJobs whose pods Volcano schedules.
func ganged(t *testing.T, s *apiServer) *Controller {
	t.Helper()
	return newTestController(t, s, func(o *Options) {
		o.Watches = jobs(o, kinds.TFJob().In(training.Cluster{Gang: training.Gang{Scheduler: "volcano"}}))
	})
}

func (s *apiServer) serveVolcano() {
	s.locked(func() {
		s.Serve(apimodel.Resource{Group: "scheduling.volcano.sh", Version: "v1beta1", Plural: "podgroups", Kind: "PodGroup", Namespaced: true, Status: true})
	})
}

// groupPhase sets the phase that Volcano writes.
func (s *apiServer) groupPhase(name string, phase any) {
	s.locked(func() {
		o := maps.Clone(s.At(groupsPath + name))
		o["status"] = map[string]any{"phase": phase}
		s.store(groupsPath+name, o)
	})
}

// hasEvent reports whether an event of this reason is stored.
func (s *apiServer) hasEvent(reason string) bool {
	found := false
	s.locked(func() {
		for _, o := range s.Objects("events") {
			found = found || o["reason"] == reason
		}
	})
	return found
}

func TestGangFromBeginningToEnd(t *testing.T) {
	s := newAPIServer(t)
	s.serveVolcano()
	start(t, ganged(t, s))
	s.put(job("a", 2, `{}`))
	eventually(t, "the group", func() bool { return len(s.names("podgroups")) == 1 })
	s.groupPhase("a", "Pending")
	s.put(job("other", 1, `{}`))
	eventually(t, "the other group", func() bool { return len(s.names("podgroups")) == 2 })
	if pods := s.names("pods"); len(pods) > 0 {
		t.Errorf("made before their group was admitted: %v", pods)
	}
	s.groupPhase("a", "Inqueue")
	eventually(t, "the pods", func() bool { return len(s.names("pods")) == 2 })
	s.phase("a-worker-0", "Succeeded")
	eventually(t, "the end of the group", func() bool { return len(s.names("podgroups")) == 1 })
	eventually(t, "the event", func() bool { return s.hasEvent(training.ReasonCreatedPodGroup) })
	if writes := s.count("PATCH podgroups"); writes > 0 {
		t.Errorf("%d updates of what did not change", writes)
	}
}

// TestGangWithoutCRD: the CRD is installed later. The job waits, an event says why, and it continues by itself.
func TestGangWithoutCRD(t *testing.T) {
	s := newAPIServer(t)
	c := ganged(t, s)
	start(t, c)
	s.put(job("a", 1, `{}`))
	eventually(t, "the event", func() bool { return s.hasEvent(training.ReasonPodGroupUnavailable) })
	if n := s.count("POST podgroups") + s.count("POST pods"); n > 0 {
		t.Errorf("%d requests for nothing", n)
	}
	s.serveVolcano()
	eventually(t, "the group", func() bool { return len(s.names("podgroups")) == 1 })
	if got := counted(t, c, "training_operator_kind_served"); got != 2 {
		t.Errorf("%v kinds are served", got)
	}
}

// TestRequiredResourceThatIsNotServed: objects cannot do without a resource that is not served. Nothing is decided, events inform the users
// why, and the objects are reconciled when it is served, without polling in between.
func TestRequiredResourceThatIsNotServed(t *testing.T) {
	s := newAPIServer(t)
	c := newTestController(t, s, func(o *Options) {
		o.Watches = jobs(o, kinds.TFJob().In(training.Cluster{Gang: training.Gang{Scheduler: "volcano"}}))
		for _, owned := range o.Watches[0].Owns {
			owned.Optional = false
		}
	})
	start(t, c)
	s.put(job("a", 1, `{}`))
	eventually(t, "the event", func() bool { return s.hasEvent("TFJobFailedValidation") })
	if n := s.count("POST pods") + s.count("PATCH tfjobs"); n > 0 {
		t.Errorf("%d writes for an object whose children cannot be seen", n)
	}
	s.serveVolcano()
	eventually(t, "the group", func() bool { return len(s.names("podgroups")) == 1 })
}
