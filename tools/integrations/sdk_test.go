package integrations

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// sdkWaits returns what wait_for_job_conditions of the Python SDK 1.9 does when it waits for Succeeded: it raises an error if Failed is
// True, and returns when Succeeded is True.
func sdkWaits(s stored) string {
	switch {
	case s.isTrue("Failed"):
		return "raises"
	case s.isTrue("Succeeded"):
		return "returns"
	}
	return "waits"
}

func TestSDKWait(t *testing.T) {
	want := map[string]string{"succeeded": "returns", "rejected-edit-succeeded": "returns", "failed": "raises", "rejected": "raises"}
	for _, state := range strings.Fields("new created running restarting running-again suspended suspended-while-running resumed unobserved repaired rejected-edit-suspended rejected-edit repaired-edit deleted") {
		want[state] = "waits"
	}
	hold(t, want, sdkWaits)
	for _, s := range jobsIn(t, "succeeded") { // both True, as 1.9 may leave them
		mustDiffer(t, sdkWaits, s, s.withCondition(t, "Running", func(c map[string]any) { c["type"], c["status"] = "Failed", "True" }))
	}
}

// sdkEnd returns which requirements of the SDK's end-to-end tests a succeeded job violates; "" if none.
func sdkEnd(s stored) string {
	var wrong []string
	if len(s.conditions()) < 2 {
		wrong = append(wrong, "fewer than two conditions")
	}
	for _, c := range []struct {
		of string
		is bool
	}{{"Created", true}, {"Succeeded", true}, {"Running", false}, {"Restarting", false}, {"Failed", false}} {
		if s.isTrue(c.of) != c.is {
			wrong = append(wrong, fmt.Sprintf("%s is True: %v", c.of, !c.is))
		}
	}
	return strings.Join(wrong, ", ")
}

func TestSDKEnd(t *testing.T) {
	for _, s := range jobsIn(t, "succeeded") {
		if wrong := sdkEnd(s); wrong != "" {
			t.Errorf("%s: %s", s, wrong)
		}
		mustDiffer(t, sdkEnd, s, s.withCondition(t, "Running", func(c map[string]any) { c["status"] = "True" }))
	}
}

// TestSDKPods: get_job_pods and get_job_logs find pods by these labels, and the logs in the container of this name.
func TestSDKPods(t *testing.T) {
	containers := map[string]string{"TFJob": "tensorflow", "PyTorchJob": "pytorch", "XGBoostJob": "xgboost", "PaddleJob": "paddle", "JAXJob": "jax"}
	for _, s := range jobsIn(t, "running") {
		if s.is("MPIJob", "kubeflow.org/v2beta1") {
			continue // the SDK has no such
		}
		masters := 0
		for _, pod := range s.pods {
			labels, name := mapAt(pod, "metadata", "labels"), textAt(mapAt(pod, "metadata"), "name")
			replicaType, _ := labels["training.kubeflow.org/replica-type"].(string)
			if labels["training.kubeflow.org/job-name"] != "pi" || replicaType != strings.ToLower(replicaType) || !strings.HasPrefix(name, "pi-"+replicaType) {
				t.Errorf("%s: labels of %s: %v", s, name, labels)
			}
			if numbered := strings.Count(name, "-") == 2; numbered && !strings.HasSuffix(name, fmt.Sprint("-", labels["training.kubeflow.org/replica-index"])) {
				t.Errorf("%s: labels of %s: %v", s, name, labels)
			}
			if labels["training.kubeflow.org/job-role"] == "master" {
				masters++
			}
			var names []string
			for _, c := range mapAt(pod, "spec")["containers"].([]any) {
				names = append(names, textAt(c.(map[string]any), "name"))
			}
			if want := containers[s.kind]; want != "" && !slices.Contains(names, want) {
				t.Errorf("%s: %s has the containers %v, want %s", s, name, names, want)
			}
		}
		if masters != 1 {
			t.Errorf("%s: %d pods are the master", s, masters)
		}
	}
}
