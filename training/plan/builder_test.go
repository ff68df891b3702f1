package plan

import (
	"strings"
	"testing"

	"stoic/schema"
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

func TestJobRole(t *testing.T) {
	const label = `"training.kubeflow.org/job-role":"master"`
	two := 2
	for name, test := range map[string]struct {
		rtypes map[string]replicaTypeKnobs
		want   string
	}{
		"chief, all of them": {map[string]replicaTypeKnobs{"Chief": {Replicas: &two}, "Worker": {Replicas: &two}}, "j-chief-0 j-chief-1"},
		"worker 0":           {map[string]replicaTypeKnobs{"PS": {}, "Worker": {Replicas: &two}}, "j-worker-0"},
		"nobody":             {map[string]replicaTypeKnobs{"PS": {}}, ""},
	} {
		w := newCluster()
		w.ReplicaTypes = test.rtypes
		var got []string
		for _, o := range Make(w.observe()).Create {
			if strings.Contains(string(o.Body), label) {
				got = append(got, o.Name)
				if o.Resource != schema.Pods() {
					t.Errorf("%s: on a %s", name, o.Resource.Kind)
				}
			}
		}
		if strings.Join(got, " ") != test.want {
			t.Errorf("%s: got %v", name, got)
		}
	}
}

// TestPortsOnce: the ports of a replica type are written once for all of its services.
func TestPortsOnce(t *testing.T) {
	w := newBuilder(&training.Job{Head: &training.Head{Kind: newCluster().kind}})
	rtype := &training.ReplicaType{KnownReplicaType: training.KnownReplicaType{Name: "Worker"}, Ports: []training.Port{{Name: "a", Number: 1}, {Name: "b", Number: 2}}}
	first := w.portsOf(rtype)
	again := w.portsOf(rtype)
	if want := `[{"name":"a","port":1},{"name":"b","port":2}]`; string(first) != want || &first[0] != &again[0] {
		t.Errorf("%s, and again %s", first, again)
	}
}

// A successor has the number of failures before it as an annotation; annotations of the template are kept.
func TestConsecutiveFailures(t *testing.T) {
	w := newCluster()
	w.ReplicaTypes = map[string]replicaTypeKnobs{"Worker": {Template: `{"metadata":{"annotations":{"a":"b"}},"spec":{"containers":[{"name":"tensorflow"}]}}`}}
	for row, want := range map[int64]string{0: `"annotations":{"a":"b"}`, 2: `"annotations":{"a":"b","training.kubeflow.org/restart-count":"2"}`} {
		w.ledger.Failed = map[string]training.Failure{"worker-0": {Pod: "gone", ConsecutiveFailures: row}}
		if body := string(Make(w.observe()).Create[1].Body); !strings.Contains(body, want) {
			t.Errorf("after %d: %s has not %s", row, body, want)
		}
	}
}
