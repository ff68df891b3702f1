package controller

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"

	"stoic/test/faults/apimodel/server"
	"stoic/training"
)

// failing stores a job whose one worker may be restarted, starts a controller for which pods are old enough to be replaced immediately,
// and waits for the pod.
func failing(t *testing.T, policy string) (*apiServer, *Controller) {
	t.Helper()
	s := newAPIServer(t)
	c := newTestController(t, s, func(o *Options) { o.Now = func() time.Time { return time.Now().Add(20 * time.Minute) } })
	o := job("a", 1, policy)
	o["spec"].(map[string]any)["tfReplicaSpecs"].(map[string]any)["Worker"].(map[string]any)["restartPolicy"] = "ExitCode"
	s.put(o)
	start(t, c)
	server.Await(t, "the pod", func() bool { return len(s.names("pods")) == 1 })
	return s, c
}

// ledger returns the ledger of the stored job a.
func (s *apiServer) ledger() (l training.Ledger) {
	s.Locked(func() {
		annotations, _ := s.At(jobsPath + "a")["metadata"].(map[string]any)["annotations"].(map[string]any)
		text, _ := annotations[training.AnnotationLedger].(string)
		_ = json.Unmarshal([]byte(text), &l)
	})
	return l
}

// pod returns the UID and the row of the stored pod, which are empty if there is none.
func (s *apiServer) pod() (id types.UID, row string) {
	s.Locked(func() {
		if o := s.At("/api/v1/namespaces/ns/pods/a-worker-0"); o != nil {
			meta := o["metadata"].(map[string]any)
			id = types.UID(meta["uid"].(string))
			annotations, _ := meta["annotations"].(map[string]any)
			row, _ = annotations[training.AnnotationRestartCount].(string)
		}
	})
	return id, row
}

func (s *apiServer) requests() []string {
	var all []string
	s.Locked(func() { all = slices.Clone(s.seen) })
	return all
}

// TestRestartsAreOnRecordFirst: a restart costs one more request, before its pod is deleted, and nothing else does.
func TestRestartsAreOnRecordFirst(t *testing.T) {
	s, c := failing(t, `{"backoffLimit":2}`)
	if n := s.count("PATCH"); n != 1 {
		t.Errorf("%d patches before anything failed, want that of the status", n)
	}
	for _, row := range []string{"1", "1"} { // the clock says that each stood for long
		first, _ := s.pod()
		before := s.ledger().Restarts
		s.phase("a-worker-0", "Failed")
		server.Await(t, "another pod", func() bool { now, _ := s.pod(); return now != first && now != "" })
		if now, got := s.pod(); got != row {
			t.Errorf("pod %s says %q failed before it, want %s", now, got, row)
		}
		want := training.Ledger{Job: s.ledger().Job, Restarts: before + 1, Failed: map[string]training.Failure{"worker-0": {Pod: first, ConsecutiveFailures: 1}},
			LastFailure: &training.FailedPod{Pod: "a-worker-0"}}
		if diff := cmp.Diff(want, s.ledger()); diff != "" {
			t.Errorf("ledger (-want +got):\n%s", diff)
		}
	}
	if got := counted(t, c, "training_operator_jobs_restarted_total"); got != 2 {
		t.Errorf("%v restarts counted, want 2", got)
	}
	s.phase("a-worker-0", "Failed")
	server.Await(t, "the terminal condition", func() bool { status := s.head("a"); return status.Is(training.Failed) })
	if total := s.ledger().Restarts; total != 2 {
		t.Errorf("%d on record, want 2", total)
	}
	// A restart writes the status and the ledger and deletes the pod, in this order.
	all := slices.DeleteFunc(s.requests(), func(r string) bool { return strings.HasPrefix(r, "POST events") }) // sent meanwhile
	if at := slices.Index(all, "DELETE pods a-worker-0"); at < 2 || strings.Join(all[at-2:at], ", ") != "PATCH tfjobs/status a, PATCH tfjobs a" {
		t.Errorf("before the deletion: %v", all[:at])
	}
}

// events returns the messages that were sent.
func (s *apiServer) events() (messages []string) {
	s.Locked(func() {
		for _, o := range s.Objects("events") {
			if message, ok := o["message"].(string); ok {
				messages = append(messages, message)
			}
		}
	})
	return messages
}
