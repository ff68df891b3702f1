//go:build unix

package cluster

import (
	"encoding/json"
	"os"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

func TestSimulatedKubelet(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("starts a real control plane")
	}
	c := start(t, Options{Nodes: 2, Audit: true})
	client := connect(t, c.Kubeconfig())
	createPod(t, client, "crashing", corev1.RestartPolicyOnFailure, map[string]string{
		"simulation.stoic/exit-code": "5", "simulation.stoic/run-for": "50ms", "simulation.stoic/restarts": "3"})
	createPod(t, client, "finishing", corev1.RestartPolicyOnFailure, map[string]string{"simulation.stoic/exit-code": "0", "simulation.stoic/run-for": "50ms"})
	createPod(t, client, "running", corev1.RestartPolicyNever, nil)
	createPod(t, client, "slow", corev1.RestartPolicyNever, map[string]string{"simulation.stoic/terminate-after": "700ms"})

	awaitPod(t, client, "crashing", "restarted 3 times", func(pod *corev1.Pod) bool {
		if pod == nil || pod.Status.Phase != corev1.PodRunning || len(pod.Status.ContainerStatuses) != 1 {
			return false
		}
		container := pod.Status.ContainerStatuses[0]
		return container.RestartCount == 3 && container.LastTerminationState.Terminated.ExitCode == 5
	})
	if code := exitCode(awaitPhase(t, client, "finishing", corev1.PodSucceeded)); code != 0 {
		t.Errorf("exit code %d, want 0", code)
	}

	awaitPhase(t, client, "running", corev1.PodRunning)
	const patch = `{"metadata":{"annotations":{"simulation.stoic/exit-code":"137","simulation.stoic/run-for":"0s"}}}`
	if _, err := client.Pods("default").Patch(t.Context(), "running", types.MergePatchType, []byte(patch), metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	if code := exitCode(awaitPhase(t, client, "running", corev1.PodFailed)); code != 137 {
		t.Errorf("exit code %d, want 137", code)
	}

	awaitPhase(t, client, "slow", corev1.PodRunning)
	began := time.Now()
	if err := client.Pods("default").Delete(t.Context(), "slow", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	awaitPod(t, client, "slow", "gone", func(pod *corev1.Pod) bool { return pod == nil })
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
