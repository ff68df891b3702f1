package plan

import (
	"strings"
	"testing"

	"stoic/training"
)

// TestEnvironmentOnce: the environment that all replicas share is built once, and only if a pod is created.
func TestEnvironmentOnce(t *testing.T) {
	w := newCluster()
	kind := *w.kind
	built, asked := 0, 0
	kind.Environment = func(job *training.Job) func(*training.ReplicaType, int) []training.EnvVar {
		built++
		return func(*training.ReplicaType, int) []training.EnvVar {
			asked++
			return []training.EnvVar{{Name: "DOMAIN", Value: job.Kind.Cluster.Domain}}
		}
	}
	kind.EnvEverywhere = true
	w.kind = &kind
	three := 3
	w.ReplicaTypes = map[string]replicaTypeKnobs{"Worker": {Replicas: &three, Template: `{"spec":{"containers":[{"name":"a"},{"name":"tensorflow"}]}}`}}
	o := w.observe()
	kind.Cluster.Domain = "cluster.local"
	p := Make(o)
	if built != 1 || asked != 4 || strings.Count(string(p.Create[1].Body), `"value":"cluster.local"`) != 2 {
		t.Errorf("built %d times, asked %d times: %s", built, asked, p.Create[1].Body)
	}
	if err := w.apply(p); err != nil {
		t.Fatal(err)
	}
	delete(w.services, "j-worker-1")
	if p = Make(w.observe()); len(p.Create) != 1 || built != 1 {
		t.Errorf("built %d times for %v", built, p.Create)
	}
	kind.Environment = nil
	delete(w.pods, "j-worker-1")
	if p = Make(w.observe()); len(p.Create) != 2 || strings.Contains(string(p.Create[1].Body), "env") {
		t.Errorf("without an environment: %v", p.Create)
	}
}
