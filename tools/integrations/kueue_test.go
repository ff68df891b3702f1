package integrations

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// kueueSees returns what Kueue's integration of a kind reads from a job: whether it is suspended, finished and how, whether its pods are
// ready, and whether any is active.
func kueueSees(s stored) string {
	var seen []string
	if suspend, _ := mapAt(s.spec(), "runPolicy")["suspend"].(bool); suspend {
		seen = append(seen, "suspended")
	}
	for _, c := range s.conditions() {
		if (c.Type == "Succeeded" || c.Type == "Failed") && c.Status == "True" {
			seen = append(seen, fmt.Sprintf("finished (success: %v)", c.Type == "Succeeded"))
			if c.Message == "" {
				seen = append(seen, "without a message")
			}
			break
		}
	}
	if s.isTrue("Running") {
		seen = append(seen, "ready")
	}
	for name := range mapAt(s.status(), "replicaStatuses") {
		if active, _ := mapAt(s.status(), "replicaStatuses", name)["active"].(int64); active != 0 {
			seen = append(seen, "active")
			break
		}
	}
	return strings.Join(seen, ", ")
}

// notOfKueue reports whether Kueue does not integrate such a job: of MPIJobs it integrates only those of mpi-operator.
func notOfKueue(s stored) bool { return s.is("MPIJob", "kubeflow.org/v1") }

// TestKueueSees: quota is held while pods run, and released at the end and on suspension; a rejected job is finished.
func TestKueueSees(t *testing.T) {
	want := map[string]string{
		"new": "", "created": "", "running": "ready, active", "restarting": "", "running-again": "ready, active",
		"suspended": "suspended", "suspended-while-running": "suspended", "resumed": "ready, active",
		"succeeded": "finished (success: true)", "failed": "finished (success: false)", "unobserved": "ready, active",
		"rejected": "finished (success: false)", "repaired": "ready, active", "rejected-edit-suspended": "suspended", "rejected-edit": "ready, active", "repaired-edit": "ready, active",
		"rejected-edit-succeeded": "finished (success: true)", "deleted": "ready, active",
	}
	v2beta1 := func(s stored) bool { return s.is("MPIJob", "kubeflow.org/v2beta1") }
	hold(t, want, kueueSees, notOfKueue, v2beta1)
	want["restarting"] = "active" // the launcher, which a worker that is replaced does not end
	hold(t, want, kueueSees, func(s stored) bool { return !v2beta1(s) })
	for _, s := range jobsIn(t, "succeeded") {
		mustDiffer(t, kueueSees, s, s.withCondition(t, "Running", func(c map[string]any) { c["status"] = "True" }))
		mustDiffer(t, kueueSees, s, s.withCondition(t, "Succeeded", func(c map[string]any) { delete(c, "message") }))
		mustDiffer(t, kueueSees, s, s.with(func(object map[string]any) {
			mapAt(object, "status", "replicaStatuses", "Worker")["active"] = int64(1)
		}))
	}
}

// podSets returns those that Kueue reserves quota for: the replica types that it knows of a kind, by their exact names.
func podSets(s stored) (sets []string) {
	known := map[string][]string{"TFJob": {"Chief", "Master", "PS", "Worker", "Evaluator"}, "PyTorchJob": {"Master", "Worker"},
		"XGBoostJob": {"Master", "Worker"}, "PaddleJob": {"Master", "Worker"}, "JAXJob": {"Worker"}, "MPIJob": {"Launcher", "Worker"}}[s.kind]
	types := map[string]map[string]any{}
	eachReplicaType(s.object, func(name string, r map[string]any) { types[name] = r })
	for _, name := range known {
		if r := types[name]; r != nil {
			replicas, is := r["replicas"].(int64)
			if !is {
				replicas = 1
			}
			sets = append(sets, fmt.Sprintf("%s %d", strings.ToLower(name), replicas))
		}
	}
	return sets
}

// TestKueuePodSets: Kueue reserves quota for each replica type for which the operator creates pods, and for the right number of pods.
func TestKueuePodSets(t *testing.T) {
	for _, s := range jobsIn(t, "running") {
		if notOfKueue(s) {
			continue
		}
		made := map[string]int{}
		for _, pod := range s.pods {
			name := textAt(mapAt(pod, "metadata"), "name")
			made[strings.Split(strings.TrimPrefix(name, "pi-"), "-")[0]]++
		}
		want := []string{}
		for name, count := range made {
			want = append(want, fmt.Sprintf("%s %d", name, count))
		}
		got := podSets(s)
		slices.Sort(got)
		slices.Sort(want)
		if !slices.Equal(got, want) {
			t.Errorf("%s: podsets %v, pods %v", s, got, want)
		}
		misspelt := s.with(func(object map[string]any) {
			for field, types := range mapAt(object, "spec") {
				if types, is := types.(map[string]any); is && strings.HasSuffix(field, "ReplicaSpecs") {
					types["worker"] = types["Worker"]
					delete(types, "Worker")
				}
			}
		})
		if sets := podSets(misspelt); slices.ContainsFunc(sets, func(set string) bool { return strings.HasPrefix(set, "worker") }) {
			t.Errorf("%s: Kueue would find worker in lower case: %v", s, sets)
		}
	}
}

// TestKueuePods: Kueue finds the pods of a job by these labels, and their places in a topology by the index.
func TestKueuePods(t *testing.T) {
	for _, s := range jobsIn(t, "running") {
		if notOfKueue(s) {
			continue
		}
		operator := strings.ToLower(s.kind) + "-controller"
		if s.is("MPIJob", "kubeflow.org/v2beta1") {
			operator = "mpi-operator"
		}
		for _, pod := range s.pods {
			labels, name := mapAt(pod, "metadata", "labels"), textAt(mapAt(pod, "metadata"), "name")
			if labels["training.kubeflow.org/job-name"] != "pi" || labels["training.kubeflow.org/operator-name"] != operator {
				t.Errorf("%s: labels of %s: %v, want job-name pi, operator-name %s", s, name, labels, operator)
			}
			parts := strings.Split(name, "-")
			if index := parts[len(parts)-1]; strings.Contains(name, "-worker-") && labels["training.kubeflow.org/replica-index"] != index {
				t.Errorf("%s: labels of %s: %v, want replica-index %s", s, name, labels, index)
			}
		}
		if len(s.pods) < 2 {
			t.Errorf("%s: %d pods", s, len(s.pods))
		}
	}
}
