package schema

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestNeeds(t *testing.T) {
	pod := func(spec string) string { return `{"spec":` + spec + `}` }
	for name, c := range map[string]struct {
		spec string
		want map[string]string
	}{
		"nothing":                  {`{"containers":[{"name":"a"}]}`, map[string]string{}},
		"sum":                      {`{"containers":[{"resources":{"requests":{"cpu":"500m"}}},{"resources":{"requests":{"cpu":1,"memory":"1Gi"}}}]}`, map[string]string{"cpu": "1500m", "memory": "1Gi"}},
		"limits stand in":          {`{"containers":[{"resources":{"requests":{"cpu":"1"},"limits":{"cpu":"2","nvidia.com/gpu":"4"}}}]}`, map[string]string{"cpu": "1", "nvidia.com/gpu": "4"}},
		"init is larger":           {`{"initContainers":[{"resources":{"requests":{"cpu":"3"}}},{"resources":{"requests":{"cpu":"2","memory":"1Mi"}}}],"containers":[{"resources":{"requests":{"cpu":"1"}}}]}`, map[string]string{"cpu": "3", "memory": "1Mi"}},
		"init beside a sidecar":    {`{"initContainers":[{"restartPolicy":"Always","resources":{"requests":{"cpu":"1"}}},{"resources":{"requests":{"cpu":"2"}}}],"containers":[{"resources":{"requests":{"cpu":"1"}}}]}`, map[string]string{"cpu": "3"}},
		"sidecar beside container": {`{"initContainers":[{"resources":{"requests":{"cpu":"2"}}},{"restartPolicy":"Always","resources":{"requests":{"cpu":"1"}}}],"containers":[{"resources":{"requests":{"cpu":"4"}}}]}`, map[string]string{"cpu": "5"}},
		"overhead":                 {`{"overhead":{"cpu":"100m"},"containers":[{"resources":{"requests":{"cpu":"1"}}}]}`, map[string]string{"cpu": "1100m"}},
		"the pod's own":            {`{"resources":{"requests":{"cpu":"8"}},"containers":[{"resources":{"requests":{"cpu":"1","memory":"1Gi"}}}]}`, map[string]string{"cpu": "8", "memory": "1Gi"}},
		"zero":                     {`{"containers":[{"resources":{"requests":{"cpu":"0"}}}]}`, map[string]string{}},
		"what cannot be read":      {`{"containers":[{"resources":{"requests":{"cpu":"1e999999999","memory":{},"x":"1"}}},7],"initContainers":"?"}`, map[string]string{"x": "1"}},
		"what is no pod":           {`[]`, map[string]string{}},
	} {
		job := &Job{Head: &Head{Kind: TFJob()}, Roles: []Role{{Replicas: 1, Template: []byte(pod(c.spec))}}}
		if diff := cmp.Diff(c.want, job.Needs(1)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func TestNeedsOfTheFirst(t *testing.T) {
	role := func(replicas int, cpu string) Role {
		return Role{Replicas: replicas, Template: []byte(`{"spec":{"containers":[{"resources":{"requests":{"cpu":"` + cpu + `"}}}]}}`)}
	}
	job := &Job{Head: &Head{Kind: TFJob()}, Roles: []Role{role(1, "100m"), role(20000, "1"), role(3, "7")}}
	for replicas, want := range map[int]string{-1: "", 0: "", 1: "100m", 2: "1100m", 20001: "20000100m", 20003: "20014100m", 1 << 40: "20021100m"} {
		if got := job.Needs(replicas)["cpu"]; got != want {
			t.Errorf("the first %d need cpu %q, want %q", replicas, got, want)
		}
	}
}

// The container in which workers wait counts as one of theirs.
func TestNeedsOfWaiting(t *testing.T) {
	kind := PyTorchJob().In(Cluster{WaitFor: WaitWith(WaitImage, 1)})
	job := &Job{Head: &Head{Kind: kind}, Roles: []Role{
		{RoleKind: *kind.Role("Master"), Replicas: 1, Template: []byte(`{}`)}, {RoleKind: *kind.Role("Worker"), Replicas: 2, Template: []byte(`{}`)}}}
	if diff := cmp.Diff(map[string]string{"cpu": "100m", "memory": "20Mi"}, job.Needs(3)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestGroup(t *testing.T) {
	limit := func(n int64) Limit { return Limit{Set: true, Value: n} }
	for name, c := range map[string]struct {
		scheduler  string
		policy     Scheduling
		spec, once string
		gate       Gate
	}{
		"volcano": {"Volcano", Scheduling{},
			`{"minMember":2,"minResources":{"cpu":"2"},"priorityClassName":null}`, `{"queue":"default"}`, GateAdmitted},
		"volcano, all set": {"volcano", Scheduling{MinAvailable: limit(1), Queue: "q", PriorityClass: "high", TimeoutSeconds: limit(9)},
			`{"minMember":1,"minResources":{"cpu":"1"},"priorityClassName":"high"}`, `{"queue":"q"}`, GateAdmitted},
		"plugin": {"default-scheduler", Scheduling{MinResources: map[string]string{"memory": "1Gi"}},
			`{"minMember":2,"minResources":{"memory":"1Gi"},"scheduleTimeoutSeconds":null}`, `null`, GateExists},
		"plugin, all set": {"x", Scheduling{MinAvailable: limit(0), Queue: "q", PriorityClass: "high", TimeoutSeconds: limit(9)},
			`{"minMember":0,"minResources":null,"scheduleTimeoutSeconds":9}`, `null`, GateExists},
	} {
		kind := TFJob().In(Cluster{Gang: Gang{Scheduler: c.scheduler}})
		job := &Job{Head: &Head{Kind: kind}, Policy: RunPolicy{Scheduling: c.policy},
			Roles: []Role{{Replicas: 2, Template: []byte(`{"spec":{"containers":[{"resources":{"requests":{"cpu":"1"}}}]}}`)}}}
		extras := job.ExtraObjects()
		if len(extras) != 1 || extras[0].Gate != c.gate || extras[0].Resource != kind.ExtraResources()[0] {
			t.Fatalf("%s: %+v", name, extras)
		}
		for what, pair := range map[string][2]any{"spec": {c.spec, extras[0].Spec}, "once": {c.once, extras[0].Once}} {
			got, err := json.Marshal(pair[1])
			if err != nil || string(got) != pair[0] {
				t.Errorf("%s: %s is %s, want %s (%v)", name, what, got, pair[0], err)
			}
		}
	}
	if extras := (&Job{Head: &Head{Kind: TFJob()}, Roles: []Role{{Replicas: 1}}}).ExtraObjects(); extras != nil {
		t.Errorf("without a gang: %v", extras)
	}
}
