package controller

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"stoic/training"
)

// TestRequestsOfOneJob: five pods start one after the other, as kubelets do it, and end so. What is known is not
// requested: ten creations, three writes of the status and three events.
func TestRequestsOfOneJob(t *testing.T) {
	const workers, statuses, events = 5, 3, 3
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
	eventually(t, "its event", func() bool { return s.count("POST events") >= events }) // they are sent beside the writes
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
	if counts["POST pods"] != workers || counts["POST services"] != workers || counts["PATCH tfjobs/status"]+counts["PATCH tfjobs"] != statuses || counts["POST events"] != events {
		t.Errorf("%v, want %d creations of each, %d writes of the status and %d events", counts, workers, statuses, events)
	}
}
