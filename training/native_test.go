package training_test

import (
	"fmt"
	"strings"
	"testing"

	"stoic/training"
	"stoic/training/kinds"
)

// TestNativeVersions: every version creates as many objects as it has resources, and reads minCount back; an unreadable spec
// has no minCount.
func TestNativeVersions(t *testing.T) {
	job := func(replicas int, minAvailable training.Limit) *training.Job {
		head := &training.Head{Kind: kinds.TFJob()}
		head.Meta.Name = "j"
		return &training.Job{Head: head, Policy: training.RunPolicy{Scheduling: training.Scheduling{MinAvailable: minAvailable}},
			ReplicaTypes: []training.ReplicaType{{Replicas: replicas}}}
	}
	for _, v := range training.NativeVersions() {
		for _, c := range []struct {
			replicas     int
			minAvailable training.Limit
			want         int
		}{
			{3, training.Limit{}, 3}, {3, training.Limit{Set: true, Value: 2}, 2}, {3, training.Limit{Set: true}, 1},
			{3, training.Limit{Set: true, Value: 1 << 40}, 1<<31 - 1},
		} {
			all := v.Dependents(job(c.replicas, c.minAvailable))
			if len(all) != len(v.Kinds) {
				t.Fatalf("%s: %+v", v.Name, all)
			}
			last := all[len(all)-1]
			spec := `{`
			for _, fields := range []map[string][]byte{rawOf(last.Spec), rawOf(last.Once)} {
				for name, value := range fields {
					if spec != `{` {
						spec += `,`
					}
					spec += `"` + name + `":` + string(value)
				}
			}
			if got := v.MinCount([]byte(spec + `}`)); got != c.want {
				t.Errorf("%s: %d of %s, want %d", v.Name, got, spec, c.want)
			}
			for i, d := range all {
				if d.Resource != v.Kinds[i] || d.Gate != training.GateExists || !training.IsNative(d.Resource) || !v.Has(d.Resource) {
					t.Errorf("%s: %+v", v.Name, d)
				}
			}
		}
		for _, spec := range []string{"", "null", "7", `{"schedulingPolicy":7}`, `{"schedulingPolicy":{"gang":{"minCount":"x"}}}`, `{"podGroups":[]}`, `{"podGroups":[7]}`} {
			if got := v.MinCount([]byte(spec)); got != 0 {
				t.Errorf("%s: %d of %s", v.Name, got, spec)
			}
		}
		elastic := job(6, training.Limit{})
		elastic.ReplicaTypes[0].Minimum = 2
		for _, want := range []int{2, 5} {
			if all := v.Dependents(elastic); !strings.Contains(fmt.Sprintf("%s %s", all[len(all)-1].Spec, all[len(all)-1].Once), fmt.Sprintf(`"minCount":%d`, want)) {
				t.Errorf("%s: an elastic job: %v, want %d", v.Name, all, want)
			}
			elastic.Policy.Scheduling.MinAvailable = training.Limit{Set: true, Value: 5}
		}
		if none := v.Dependents(job(0, training.Limit{})); none != nil {
			t.Errorf("%s: of a job without pods: %+v", v.Name, none)
		}
	}
	if training.IsNative(training.PodGroups()) || training.IsNative(training.PluginPodGroups()) {
		t.Error("a group of another scheduler is taken for one of Kubernetes")
	}
}

func rawOf[M ~[]byte](fields map[string]M) map[string][]byte {
	all := map[string][]byte{}
	for name, value := range fields {
		all[name] = value
	}
	return all
}
