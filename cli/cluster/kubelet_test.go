//go:build unix

package cluster

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"
)

const pods = "/api/v1/namespaces/default/pods"

// status holds the fields of a pod that these tests read.
type status struct {
	Status struct {
		Phase             string
		ContainerStatuses []struct {
			RestartCount int
			LastState    struct{ Terminated struct{ ExitCode int } }
		}
	}
}

func (a *api) create(t *testing.T, name, policy string, annotations map[string]any) {
	t.Helper()
	p := pod(name, annotations)
	p["spec"].(map[string]any)["restartPolicy"] = policy
	if code, answer := a.do(t, http.MethodPost, pods, p); code != http.StatusCreated {
		t.Fatalf("create the pod %s: status %d: %v", name, code, answer)
	}
}

// until reads the pod until the condition holds; ok is false once the pod no longer exists.
func (a *api) until(t *testing.T, name, what string, holds func(s status, ok bool) bool) {
	t.Helper()
	deadline := time.After(2 * time.Minute)
	ticker := time.NewTicker(20 * time.Millisecond)
	defer ticker.Stop()
	for {
		code, object := a.do(t, http.MethodGet, pods+"/"+name, nil)
		content, err := json.Marshal(object)
		if err != nil {
			t.Fatal(err)
		}
		var s status
		// The status of an error response is a string; the pod then no longer exists.
		ok := code == http.StatusOK && json.Unmarshal(content, &s) == nil
		if holds(s, ok) {
			return
		}
		select {
		case <-deadline:
			t.Fatalf("in vain waited until %s %s; last seen: %s", name, what, content)
		case <-ticker.C:
		}
	}
}

func TestSimulatedKubelet(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("starts a real control plane")
	}
	c := start(t, Options{Nodes: 2, Audit: true})
	a := connect(t, c.Kubeconfig())

	a.create(t, "crashing", "OnFailure", map[string]any{
		"simulation.stoic/exit-code": "5", "simulation.stoic/run-for": "50ms", "simulation.stoic/restarts": "3"})
	a.create(t, "finishing", "OnFailure", map[string]any{"simulation.stoic/exit-code": "0", "simulation.stoic/run-for": "50ms"})
	a.create(t, "running", "Never", nil)
	a.create(t, "slow", "Never", map[string]any{"simulation.stoic/terminate-after": "700ms"})

	a.until(t, "crashing", "has restarted 3 times", func(s status, ok bool) bool {
		return ok && s.Status.Phase == "Running" && len(s.Status.ContainerStatuses) == 1 &&
			s.Status.ContainerStatuses[0].RestartCount == 3 && s.Status.ContainerStatuses[0].LastState.Terminated.ExitCode == 5
	})
	a.awaitPhase(t, "finishing", "Succeeded")

	a.awaitPhase(t, "running", "Running")
	a.merge(t, "running", `{"metadata":{"annotations":{"simulation.stoic/exit-code":"137","simulation.stoic/run-for":"0s"}}}`)
	if code := exitCode(t, a.awaitPhase(t, "running", "Failed")); code != 137 {
		t.Errorf("exit code %d, want 137", code)
	}

	a.awaitPhase(t, "slow", "Running")
	began := time.Now()
	a.do(t, http.MethodDelete, pods+"/slow", nil)
	a.until(t, "slow", "is gone", func(_ status, ok bool) bool { return !ok })
	if took := time.Since(began); took < 700*time.Millisecond {
		t.Errorf("the deleted pod ran on for %s, want 700ms", took)
	}
	if named := deletionsByKubelets(t, c.AuditLog()); named != 1 {
		t.Errorf("the kubelets have sent %d deletions, want 1", named)
	}
}

// deletionsByKubelets counts the deletions of pods that the simulated kubelets have sent. Each must name a UID: a name alone could
// match the successor of the pod.
func deletionsByKubelets(t *testing.T, log string) (count int) {
	t.Helper()
	content, err := os.ReadFile(log)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(content)) {
		var e struct {
			Verb          string
			User          struct{ Username string }
			ObjectRef     struct{ Resource, Name string }
			RequestObject struct{ Preconditions struct{ UID string } }
		}
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			t.Fatalf("read the audit log: %v in %s", err, line)
		}
		if e.Verb != "delete" || e.ObjectRef.Resource != "pods" || e.User.Username != "simulated-kubelets" {
			continue
		}
		if count++; e.RequestObject.Preconditions.UID == "" {
			t.Errorf("the pod %s is deleted by name alone", e.ObjectRef.Name)
		}
	}
	return count
}

// TestSuccessorsSurvive deletes pods and creates them again under the same names, over and over. A deletion that reached a successor
// would leave fewer pods.
func TestSuccessorsSurvive(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("starts a real control plane")
	}
	c := start(t, Options{Nodes: 2})
	a := connect(t, c.Kubeconfig())
	const count, rounds = 10, 5
	for round := range rounds {
		for i := range count {
			name := fmt.Sprintf("pod-%d", i)
			a.until(t, name, "can be created", func(status, bool) bool {
				code, _ := a.do(t, http.MethodPost, pods, pod(name, nil))
				return code == http.StatusCreated
			})
		}
		if round == rounds-1 {
			break
		}
		for i := range count {
			a.do(t, http.MethodDelete, fmt.Sprintf("%s/pod-%d", pods, i), nil)
		}
	}
	for i := range count {
		a.awaitPhase(t, fmt.Sprintf("pod-%d", i), "Running")
	}
}

func (a *api) merge(t *testing.T, name, patch string) {
	t.Helper()
	if code, answer := a.send(t, http.MethodPatch, pods+"/"+name, "application/merge-patch+json", []byte(patch)); code != http.StatusOK {
		t.Fatalf("patch the pod %s: status %d: %v", name, code, answer)
	}
}
