package plan

import (
	"fmt"
	"strings"
	"testing"

	"stoic/schema"
	"stoic/training"
)

func TestOrphanIndex(t *testing.T) {
	w := newCluster()
	two := 2
	w.ReplicaTypes = map[string]replicaTypeKnobs{"Worker": {Replicas: &two}}
	d := newDraft(w.observe())
	for name, want := range map[string]int{
		"j-worker-2": 2, "j-worker-9999": 9999, "j-ps-0": 0, "j-chief-3": 3,
		"j-worker-0": -1, "j-worker-1": -1, "j-worker-02": -1, "j-worker--2": -1, "j-worker-+2": -1, "j-worker-2 ": -1,
		"j-worker-": -1, "j-worker": -1, "j--2": -1, "j-2": -1, "j-": -1, "j": -1, "": -1, "j-Worker-2": -1, "j-launcher-2": -1,
		"x-worker-2": -1, "jj-worker-2": -1, "j-worker-9223372036854775808": -1, "j-worker-2-worker-2": -1,
	} {
		index, is := d.orphanIndex(name)
		if is != (want >= 0) || is && index != want {
			t.Errorf("%q: got %d, %v", name, index, is)
		}
	}
}

// TestBounded: the size of a plan is bounded, and it requeues for the rest.
func TestBounded(t *testing.T) {
	w := newCluster()
	many := training.MaxReplicas
	w.Dynamic = true
	w.ReplicaTypes = map[string]replicaTypeKnobs{"Worker": {Replicas: &many}}
	p := Make(w.observe())
	if len(p.Create) != maxSteps || p.Requeue != soon || p.Create[maxSteps-1].Name != "j-worker-249" {
		t.Errorf("%d created, recheck %s", len(p.Create), p.Requeue)
	}
	for i := range 600 {
		w.setPod(t, fmt.Sprintf("j-ps-%d", i), "Running")
	}
	p = Make(w.observe())
	if len(p.Delete) != maxSteps || p.Requeue != soon || p.Delete[0].Name != "j-ps-599" {
		t.Errorf("%d deleted, recheck %s", len(p.Delete), p.Requeue)
	}
	w.Suspend = true
	if p = Make(w.observe()); len(p.Delete) != maxSteps || p.Requeue != soon {
		t.Errorf("suspended: %d deleted, recheck %s", len(p.Delete), p.Requeue)
	}

	// The limit is reached between a service and its pod.
	w = newCluster()
	w.Dynamic = true
	w.services["j-worker-0"] = &training.Service{Name: "j-worker-0"}
	w.ReplicaTypes = map[string]replicaTypeKnobs{"Worker": {Replicas: &many}}
	if p = Make(w.observe()); len(p.Create) != maxSteps || p.Create[maxSteps-1].Resource != schema.Services() || p.Requeue != soon {
		t.Errorf("%d created, recheck %s", len(p.Create), p.Requeue)
	}

	w = newCluster()
	w.Dynamic = true
	w.ReplicaTypes = map[string]replicaTypeKnobs{"Worker": {Replicas: &many,
		Template: `{"spec":{"containers":[{"name":"tensorflow","args":["` + strings.Repeat("x", maxBytes/10) + `"]}]}}`}}
	p = Make(w.observe())
	if n := len(p.Create); n != 20 || p.Requeue != soon {
		t.Errorf("%d large pods created, recheck %s", n, p.Requeue)
	}

	// Pods exist, but services with all their ports are missing.
	ports := make([]string, 20_000)
	for i := range ports {
		ports[i] = fmt.Sprintf(`{"name":"p%d","containerPort":%d}`, i, i+1)
	}
	w = newCluster()
	w.Dynamic = true
	w.ReplicaTypes = map[string]replicaTypeKnobs{"Worker": {Replicas: &many,
		Template: `{"spec":{"containers":[{"name":"tensorflow","ports":[` + strings.Join(ports, ",") + `]}]}}`}}
	for i := range 100 {
		w.setPod(t, fmt.Sprintf("j-worker-%d", i), "Running")
	}
	p, bytes := Make(w.observe()), 0
	for _, o := range p.Create {
		bytes += len(o.Body)
	}
	if one := len(p.Create[len(p.Create)-1].Body); one < 20_000*20 || bytes < maxBytes || bytes > maxBytes+one || p.Requeue != soon {
		t.Errorf("%d services of %d bytes created, %d bytes, recheck %s", len(p.Create), one, bytes, p.Requeue)
	}
}
