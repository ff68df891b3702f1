package controller

import (
	"testing"

	"stoic/training"
	"stoic/training/kinds"
)

// native returns a controller of TFJobs whose pods kube-scheduler places together.
func native(t *testing.T, s *apiServer) *Controller {
	t.Helper()
	return newTestController(t, s, func(o *Options) {
		o.Watches = jobs(o, kinds.TFJob().In(training.Cluster{Gang: training.Gang{Native: true}}))
	})
}

// TestNativeVersionIsFound: the one of the watched alternatives that is served is used, and the absence of the others is no error.
func TestNativeVersionIsFound(t *testing.T) {
	s := newAPIServer(t)
	s.serve("scheduling.k8s.io/v1alpha1", "workloads")
	c := native(t, s)
	start(t, c)
	s.put(job("a", 1, `{}`))
	eventually(t, "the pod", func() bool { return len(s.names("pods")) == 1 })
	if got := s.names("workloads"); len(got) != 1 || s.hasEvent(training.ReasonPodGroupUnavailable) {
		t.Errorf("the Workloads are %v", got)
	}
	s.locked(func() {
		for _, pod := range s.Objects("pods") {
			spec, _ := pod["spec"].(map[string]any)
			if ref, _ := spec["workloadRef"].(map[string]any); ref["name"] != "a" || ref["podGroup"] != "pods" {
				t.Errorf("the pod names the group %v", ref)
			}
		}
	})
	if got := counted(t, c, "training_operator_kind_served"); got != 1 {
		t.Errorf("%v kinds are served by the gauge, want that of the jobs: one gauge cannot stand for several versions", got)
	}
	s.phase("a-worker-0", "Succeeded")
	eventually(t, "the end of the Workload", func() bool { return len(s.names("workloads")) == 0 })
}

// TestNativeVersionsAreAbsent: the user gets one event.
func TestNativeVersionsAreAbsent(t *testing.T) {
	s := newAPIServer(t)
	start(t, native(t, s))
	s.put(job("a", 1, `{}`))
	eventually(t, "the event", func() bool { return s.hasEvent(training.ReasonPodGroupUnavailable) })
	if n := s.count("POST podgroups") + s.count("POST workloads") + s.count("POST pods"); n > 0 {
		t.Errorf("%d requests for nothing", n)
	}
}
