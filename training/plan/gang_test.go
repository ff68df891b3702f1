package plan

import (
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"stoic/training"
	"stoic/training/kinds"
)

// The template has what a gang scheduler needs; all other parts are unchanged.
func TestGanged(t *testing.T) {
	const author = `{"metadata":{"annotations":{"scheduling.k8s.io/group-name":"x","a":"1"},"labels":{"l":"2"}},"spec":{"big":12345678901234567890,"containers":[]}}`
	for _, c := range []struct{ scheduler, template, want string }{
		{"", author, author},
		{"VOLCANO", author, `{"metadata":{"annotations":{"a":"1","scheduling.k8s.io/group-name":"j","volcano.sh/task-spec":"worker"},"labels":{"l":"2"}},"spec":{"big":12345678901234567890,"containers":[],"schedulerName":"volcano"}}`},
		{"mine", `{"spec":{"schedulerName":""}}`, `{"metadata":{"labels":{"scheduling.x-k8s.io/pod-group":"j"}},"spec":{"schedulerName":"mine"}}`},
		{"mine", `{"spec":{"schedulerName":"other"}}`, `{"metadata":{"labels":{"scheduling.x-k8s.io/pod-group":"j"}},"spec":{"schedulerName":"other"}}`},
		{"mine", `7`, `{"metadata":{"labels":{"scheduling.x-k8s.io/pod-group":"j"}},"spec":{"schedulerName":"mine"}}`},
	} {
		kind := kinds.TFJob().In(training.Cluster{Gang: training.Gang{Scheduler: c.scheduler}})
		head := &training.Head{Kind: kind}
		head.Meta.Name = "j"
		rtype := &training.ReplicaType{KnownReplicaType: *kind.ReplicaType("Worker"), Template: []byte(c.template)}
		if diff := gocmp.Diff(c.want, string(ganged(&training.Job{Head: head}, rtype, nil))); diff != "" {
			t.Errorf("%s of %s (-want +got):\n%s", c.scheduler, c.template, diff)
		}
	}
}
