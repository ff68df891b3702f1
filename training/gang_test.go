package training_test

import (
	"encoding/json"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"

	"stoic/training"
	"stoic/training/kinds"
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
		job := &training.Job{Head: &training.Head{Kind: kinds.TFJob()}, ReplicaTypes: []training.ReplicaType{{Replicas: 1, Template: []byte(pod(c.spec))}}}
		if diff := cmp.Diff(c.want, job.Needs(1, nil)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func TestNeedsOfTheFirst(t *testing.T) {
	replicaSpec := func(replicas int, cpu string) training.ReplicaType {
		return training.ReplicaType{Replicas: replicas, Template: []byte(`{"spec":{"containers":[{"resources":{"requests":{"cpu":"` + cpu + `"}}}]}}`)}
	}
	job := &training.Job{Head: &training.Head{Kind: kinds.TFJob()}, ReplicaTypes: []training.ReplicaType{replicaSpec(1, "100m"), replicaSpec(20000, "1"), replicaSpec(3, "7")}}
	for replicas, want := range map[int]string{-1: "", 0: "", 1: "100m", 2: "1100m", 20001: "20000100m", 20003: "20014100m", 1 << 40: "20021100m"} {
		if got := job.Needs(replicas, nil)["cpu"]; got != want {
			t.Errorf("the first %d need cpu %q, want %q", replicas, got, want)
		}
	}
}

// The init container in which workers wait has the requests of the training container, so it adds nothing to those of the pod.
func TestNeedsOfWaiting(t *testing.T) {
	template := []byte(`{"spec":{"containers":[{"name":"pytorch","resources":{"requests":{"cpu":"1"},"limits":{"nvidia.com/gpu":1}}},{"name":"side","resources":{"requests":{"cpu":"1"}}}]}}`)
	kind := kinds.PyTorchJob().In(training.Cluster{WaitFor: training.WaitWith(training.WaitImage, 1)})
	job := &training.Job{Head: &training.Head{Kind: kind}, ReplicaTypes: []training.ReplicaType{
		{KnownReplicaType: *kind.ReplicaType("Master"), Replicas: 1, Template: template}, {KnownReplicaType: *kind.ReplicaType("Worker"), Replicas: 2, Template: template, Container: "pytorch"}}}
	if diff := cmp.Diff(map[string]string{"cpu": "6", "nvidia.com/gpu": "3"}, job.Needs(3, nil)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestGroup(t *testing.T) {
	limit := func(n int64) training.Limit { return training.Limit{Set: true, Value: n} }
	for name, c := range map[string]struct {
		scheduler  string
		policy     training.Scheduling
		spec, once string
		gate       training.Gate
	}{
		"volcano": {"Volcano", training.Scheduling{},
			`{"minMember":2,"minResources":{"cpu":"2"},"priorityClassName":null}`, `{"queue":"default"}`, training.GateAdmitted},
		"volcano, all set": {"volcano", training.Scheduling{MinAvailable: limit(1), Queue: "q", PriorityClass: "high", TimeoutSeconds: limit(9)},
			`{"minMember":1,"minResources":{"cpu":"1"},"priorityClassName":"high"}`, `{"queue":"q"}`, training.GateAdmitted},
		"plugin": {"default-scheduler", training.Scheduling{MinResources: map[string]string{"memory": "1Gi"}},
			`{"minMember":2,"minResources":{"memory":"1Gi"},"scheduleTimeoutSeconds":null}`, `null`, training.GateExists},
		"plugin, all set": {"x", training.Scheduling{MinAvailable: limit(0), Queue: "q", PriorityClass: "high", TimeoutSeconds: limit(9)},
			`{"minMember":0,"minResources":null,"scheduleTimeoutSeconds":9}`, `null`, training.GateExists},
	} {
		kind := kinds.TFJob().In(training.Cluster{Gang: training.Gang{Scheduler: c.scheduler}})
		job := &training.Job{Head: &training.Head{Kind: kind}, Policy: training.RunPolicy{Scheduling: c.policy},
			ReplicaTypes: []training.ReplicaType{{Replicas: 2, Template: []byte(`{"spec":{"containers":[{"resources":{"requests":{"cpu":"1"}}}]}}`)}}}
		dependents := job.DependentObjects(nil, nil)
		if len(dependents) != 1 || dependents[0].Gate != c.gate || dependents[0].Resource != kind.DependentResources()[0] {
			t.Fatalf("%s: %+v", name, dependents)
		}
		for what, pair := range map[string][2]any{"spec": {c.spec, dependents[0].Spec}, "once": {c.once, dependents[0].Once}} {
			got, err := json.Marshal(pair[1])
			if err != nil || string(got) != pair[0] {
				t.Errorf("%s: %s is %s, want %s (%v)", name, what, got, pair[0], err)
			}
		}
	}
	if dependents := (&training.Job{Head: &training.Head{Kind: kinds.TFJob()}, ReplicaTypes: []training.ReplicaType{{Replicas: 1}}}).DependentObjects(nil, nil); dependents != nil {
		t.Errorf("without a gang: %v", dependents)
	}
}

// minResources is the sum over the members of the highest priority, as intended by training-operator 1.9.
func TestNeedsByPriority(t *testing.T) {
	replicaSpec := func(replicas int, cpu, class string) training.ReplicaType {
		return training.ReplicaType{Replicas: replicas, Template: []byte(`{"spec":{"priorityClassName":` + class + `,"containers":[{"resources":{"requests":{"cpu":"` + cpu + `"}}}]}}`)}
	}
	job := &training.Job{Head: &training.Head{Kind: kinds.TFJob()}, ReplicaTypes: []training.ReplicaType{replicaSpec(1, "100m", `"low"`), replicaSpec(2, "1", `"high"`), replicaSpec(1, "10", `null`), replicaSpec(1, "20", `"high"`), replicaSpec(1, "50", `7`)}}
	for name, c := range map[string]struct {
		priorities training.Priorities
		replicas   int
		want       string
	}{
		"not known":                            {nil, 2, "1100m"},
		"none there":                           {training.Priorities{}, 2, "1100m"},
		"the highest first":                    {training.Priorities{"low": -5, "high": 1000}, 2, "2"},
		"equal ones in order of replica types": {training.Priorities{"low": -5, "high": 1000}, 3, "22"},
		"none named counts as 0":               {training.Priorities{"low": -5, "high": -9}, 1, "10"},
		"none named counts as the default":     {training.Priorities{"low": 5, "high": 9, "": 10}, 2, "60"},
		"a class that is gone counts as 0":     {training.Priorities{"low": 5}, 1, "100m"},
		"all of them":                          {training.Priorities{"low": -5, "high": 1000}, 6, "82100m"},
	} {
		if got := job.Needs(c.replicas, c.priorities)["cpu"]; got != c.want {
			t.Errorf("%s: the first %d need cpu %q, want %q", name, c.replicas, got, c.want)
		}
	}
}

// An existing group is not changed while priorities are unknown, as after a restart.
func TestGroupByPriority(t *testing.T) {
	replicaSpec := func(class string) training.ReplicaType {
		return training.ReplicaType{Replicas: 1, Template: []byte(`{"spec":{"priorityClassName":"` + class + `","containers":[{"resources":{"requests":{"cpu":"1"}}}]}}`)}
	}
	limit := func(n int64) training.Limit { return training.Limit{Set: true, Value: n} }
	for name, c := range map[string]struct {
		classes    [2]string
		policy     training.Scheduling
		priorities training.Priorities
		kept       bool
	}{
		"not known, and they decide":     {[2]string{"a", "b"}, training.Scheduling{MinAvailable: limit(1)}, nil, true},
		"known":                          {[2]string{"a", "b"}, training.Scheduling{MinAvailable: limit(1)}, training.Priorities{}, false},
		"one class":                      {[2]string{"a", "a"}, training.Scheduling{MinAvailable: limit(1)}, nil, false},
		"all members":                    {[2]string{"a", "b"}, training.Scheduling{}, nil, false},
		"more members than there are":    {[2]string{"a", "b"}, training.Scheduling{MinAvailable: limit(9)}, nil, false},
		"the author says what they need": {[2]string{"a", "b"}, training.Scheduling{MinAvailable: limit(1), MinResources: map[string]string{"cpu": "7"}}, nil, false},
	} {
		for _, scheduler := range []string{"volcano", "other"} {
			kind := kinds.TFJob().In(training.Cluster{Gang: training.Gang{Scheduler: scheduler}})
			job := &training.Job{Head: &training.Head{Kind: kind}, Policy: training.RunPolicy{Scheduling: c.policy}, ReplicaTypes: []training.ReplicaType{replicaSpec(c.classes[0]), replicaSpec(c.classes[1])}}
			group := job.DependentObjects(c.priorities, nil)[0]
			if _, kept := group.Once["minResources"]; kept != c.kept {
				t.Errorf("%s, %s: kept %v, want %v", name, scheduler, kept, c.kept)
			}
			if _, written := group.Spec["minResources"]; written == c.kept {
				t.Errorf("%s, %s: written %v", name, scheduler, written)
			}
		}
	}
}

// minMember does not count replicas that wait for others to run; minResources covers all replicas.
func TestGangOfThoseThatStartAtOnce(t *testing.T) {
	waits := training.KnownReplicaType{Name: "Launcher", Label: "launcher", After: "Worker"}
	template := []byte(`{"spec":{"containers":[{"resources":{"requests":{"cpu":"1"}}}]}}`)
	for _, c := range []struct {
		asked, workers int64
		members        string
	}{{0, 3, "3"}, {4, 3, "3"}, {2, 3, "2"}, {0, 0, "1"}} {
		job := &training.Job{Head: &training.Head{Kind: kinds.TFJob().In(training.Cluster{Gang: training.Gang{Scheduler: "volcano"}})}, ReplicaTypes: []training.ReplicaType{
			{KnownReplicaType: waits, Replicas: 1, Template: template},
			{KnownReplicaType: training.KnownReplicaType{Name: "Worker", Label: "worker"}, Replicas: int(c.workers), Template: template}}}
		if c.asked > 0 {
			job.Policy.Scheduling.MinAvailable = training.Limit{Set: true, Value: c.asked}
		}
		group := job.DependentObjects(nil, nil)[0]
		if got := string(group.Spec["minMember"]); got != c.members {
			t.Errorf("%+v: minMember %s", c, got)
		}
		want := `{"cpu":"` + strconv.Itoa(int(c.workers+1)) + `"}`
		if c.asked == 2 {
			want = `{"cpu":"2"}`
		}
		if got := string(group.Spec["minResources"]); got != want {
			t.Errorf("%+v: minResources %s", c, got)
		}
	}
}
