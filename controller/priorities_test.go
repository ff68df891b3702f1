package controller

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const classesPath = "/apis/scheduling.k8s.io/v1/priorityclasses/"

func class(name string, value int64, globalDefault bool) map[string]any {
	return map[string]any{"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass",
		"metadata": map[string]any{"name": name}, "value": value, "globalDefault": globalDefault}
}

// mixed returns a gang of which one member is required; its Worker is of a higher class.
func mixed(t *testing.T) map[string]any {
	t.Helper()
	o := job("a", 1, `{"schedulingPolicy":{"minAvailable":1}}`)
	rtype := func(class, cpu string) map[string]any {
		return map[string]any{"replicas": int64(1), "template": map[string]any{"spec": map[string]any{"priorityClassName": class,
			"containers": []any{map[string]any{"name": "tensorflow", "image": "i", "resources": map[string]any{"requests": map[string]any{"cpu": cpu}}}}}}}
	}
	o["spec"].(map[string]any)["tfReplicaSpecs"] = map[string]any{"Chief": rtype("low", "1"), "Worker": rtype("high", "8")}
	return o
}

// groupCPU returns the cpu that the group of job a requests.
func (s *apiServer) groupCPU() (cpu string) {
	s.locked(func() {
		spec, _ := s.At(groupsPath + "a")["spec"].(map[string]any)
		resources, _ := spec["minResources"].(map[string]any)
		cpu = fmt.Sprint(resources["cpu"])
	})
	return cpu
}

// TestGangByPriority: the groups of gangs follow the PriorityClasses, by events alone.
func TestGangByPriority(t *testing.T) {
	s := newAPIServer(t)
	s.serveVolcano()
	s.serve("scheduling.k8s.io/v1", "priorityclasses")
	s.locked(func() { s.store(classesPath+"high", class("high", 1000, false)) })
	start(t, ganged(t, s))
	s.put(mixed(t))
	eventually(t, "a group for the worker", func() bool { return s.groupCPU() == "8" })
	s.locked(func() { s.store(classesPath+"low", class("low", 2000, false)) })
	eventually(t, "a group for the chief", func() bool { return s.groupCPU() == "1" })
	s.locked(func() { s.drop(classesPath + "low") })
	eventually(t, "a group for the worker again", func() bool { return s.groupCPU() == "8" })
}

// refusingClasses returns a server of one class that answers each read of it with an error.
func refusingClasses(t *testing.T, with refusing) *apiServer {
	t.Helper()
	s := newAPIServer(t)
	s.serveVolcano()
	s.serve("scheduling.k8s.io/v1", "priorityclasses")
	s.locked(func() {
		s.store(classesPath+"high", class("high", 1000, false))
		s.refuse = func(verb, resource, _ string) *refusing {
			if verb == http.MethodGet && strings.HasPrefix(resource, "priorityclasses") {
				return &with
			}
			return nil
		}
	})
	return s
}

// TestGangWithoutPriorities: an operator that may not read them continues in the order of replica types.
func TestGangWithoutPriorities(t *testing.T) {
	s := refusingClasses(t, refusing{http.StatusForbidden, metav1.StatusReasonForbidden, "no"})
	start(t, ganged(t, s))
	s.put(mixed(t))
	eventually(t, "a group for the chief", func() bool { return s.groupCPU() == "1" })
	s.groupPhase("a", "Running")
	eventually(t, "the pods", func() bool { return len(s.names("pods")) == 2 })
}

// TestPrioritiesThatComeLate: once they can be read, the jobs that did without are reconciled again.
func TestPrioritiesThatComeLate(t *testing.T) {
	s := refusingClasses(t, refusing{http.StatusServiceUnavailable, metav1.StatusReasonServiceUnavailable, "not now"})
	start(t, ganged(t, s))
	s.put(mixed(t))
	eventually(t, "a group for the chief", func() bool { return s.groupCPU() == "1" })
	s.locked(func() { s.refuse = nil })
	eventually(t, "a group for the worker", func() bool { return s.groupCPU() == "8" })
}

// TestPrioritiesAreNotReadWithoutGangs: without a gang scheduler, nothing reads them.
func TestPrioritiesAreNotReadWithoutGangs(t *testing.T) {
	s := newAPIServer(t)
	c := newTestController(t, s, nil)
	start(t, c)
	s.put(job("a", 1, `{}`))
	eventually(t, "the pod", func() bool { return len(s.names("pods")) == 1 })
	if n := s.count("GET priorityclasses"); n != 0 || len(c.reads) != 0 {
		t.Errorf("PriorityClasses were read %d times", n)
	}
}
