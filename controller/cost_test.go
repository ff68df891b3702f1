package controller

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"stoic/training"
)

// TestRequestsOfOneJob: five pods that come up one after the other, as kubelets have it, and end so. What is known is not
// asked for: ten creations, three writes of the status, and a few events.
func TestRequestsOfOneJob(t *testing.T) {
	const workers, mostStatuses, mostEvents = 5, 3, 4
	s := newAPIServer(t)
	start(t, newTestController(t, s, nil))
	s.put(job("a", workers, `{"cleanPodPolicy":"None"}`))
	eventually(t, "the pods and services", func() bool { return len(s.names("pods")) == workers && len(s.names("services")) == workers })
	for _, phase := range []string{"Running", "Succeeded"} {
		for i := range workers {
			s.phase(fmt.Sprint("a-worker-", workers-1-i), phase)
			if i == 0 && phase == "Running" {
				eventually(t, "the job to run", func() bool { st := s.head("a"); return st.Is(training.Running) })
			}
		}
	}
	eventually(t, "the end", func() bool { st := s.head("a"); return st.Is(training.Succeeded) })
	counts := map[string]int{}
	s.locked(func() {
		for _, request := range s.seen {
			words := strings.Fields(request)
			counts[words[0]+" "+words[1]]++
			if words[0] == http.MethodGet && len(words) > 2 {
				t.Errorf("%s: what is known was asked for", request)
			}
		}
	})
	t.Log(counts)
	if counts["POST pods"] != workers || counts["POST services"] != workers || counts["PATCH tfjobs/status"]+counts["PATCH tfjobs"] > mostStatuses || counts["POST events"] > mostEvents {
		t.Errorf("%v, want %d creations of each and at most %d writes of the status and %d events", counts, workers, mostStatuses, mostEvents)
	}
}
